package org.ksqlspark.internals.state;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

import java.io.IOException;

/** How files are written as a whole or not at all, on each kind of file system. */
public final class CheckpointFiles {
    private CheckpointFiles() {}

    /**
     * The files below a path.
     *
     * <p>On this machine a file is renamed. An object store cannot do that at once, but shows a
     * file only when it is complete. Elsewhere, as on HDFS, {@link
     * org.apache.hadoop.fs.FileContext} renames, which can replace a file, unlike {@link
     * FileSystem}.
     *
     * @param path any folder or file
     * @param settings of Hadoop
     */
    public static CheckpointFileManager of(Path path, Configuration settings) throws IOException {
        FileSystem system = path.getFileSystem(settings);
        if (system.getScheme().equals("file")) {
            return new FileSystemBasedCheckpointFileManager(path, settings);
        }
        if (system.hasPathCapability(path, CommonPathCapabilities.ABORTABLE_STREAM)) {
            return new UploadedFiles(path, settings);
        }
        return new FileContextBasedCheckpointFileManager(path, settings);
    }
}
