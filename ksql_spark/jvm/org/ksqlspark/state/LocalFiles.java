package org.ksqlspark.state;

import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

import java.io.IOException;

/**
 * The local file system without child processes and checksum files. Without its native library,
 * Hadoop runs chmod for every file that it creates, which costs more than writing the file, and a
 * checkpoint consists of dozens of small files. The process's umask determines who may read them.
 * Spark checks its checkpoint files itself.
 */
public final class LocalFiles extends LocalFileSystem {
    /**
     * The most bytes of a file that wait to be written. A task with state keeps two files open from
     * one checkpoint to the next, and Spark asks for 64 KiB for each.
     */
    private static final int MAX_BUFFERED = 8192;

    public LocalFiles() {
        super(new Raw());
        setWriteChecksum(false);
        setVerifyChecksum(false);
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            boolean overwrites,
            int buffered,
            short replication,
            long blockSize,
            Progressable progress)
            throws IOException {
        int least = Math.min(buffered, MAX_BUFFERED);
        return super.create(path, permission, overwrites, least, replication, blockSize, progress);
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) {}
    }
}
