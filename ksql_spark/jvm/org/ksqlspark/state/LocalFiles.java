package org.ksqlspark.state;

import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system without child processes and checksum files. Without its native library,
 * Hadoop runs chmod for every file that it creates, which costs more than writing the file, and a
 * checkpoint consists of dozens of small files. The process's umask determines who may read them.
 * Spark checks its checkpoint files itself.
 */
public final class LocalFiles extends LocalFileSystem {

    public LocalFiles() {
        super(new Raw());
        setWriteChecksum(false);
        setVerifyChecksum(false);
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) {}
    }
}
