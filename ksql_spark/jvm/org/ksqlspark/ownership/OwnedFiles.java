package org.ksqlspark.ownership;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.ksqlspark.internals.state.CheckpointFiles;

import java.io.IOException;

/**
 * Spark's checkpoint files (spark.sql.streaming.checkpointFileManagerClass), which several servers
 * may reach: only the one that owns the query writes them.
 */
public class OwnedFiles implements CheckpointFileManager {
    private final CheckpointFileManager files;
    private final boolean isOwned;

    /** Spark calls this constructor. */
    public OwnedFiles(Path path, Configuration settings) throws IOException {
        files = CheckpointFiles.of(path, settings);
        // folders of push queries, which belong to the server that was asked
        isOwned = !path.toString().contains("/transient_");
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrites) {
        if (isOwned) {
            Ownership.check();
        }
        return files.createAtomic(path, overwrites);
    }

    @Override
    public FSDataInputStream open(Path path) {
        return files.open(path);
    }

    @Override
    public FileStatus[] list(Path path, PathFilter filter) {
        return files.list(path, filter);
    }

    @Override
    public void mkdirs(Path path) {
        files.mkdirs(path);
    }

    @Override
    public boolean exists(Path path) {
        return files.exists(path);
    }

    @Override
    public void delete(Path path) {
        files.delete(path);
    }

    @Override
    public boolean isLocal() {
        return files.isLocal();
    }

    @Override
    public Path createCheckpointDirectory() {
        return files.createCheckpointDirectory();
    }

    @Override
    public void close() {
        files.close();
    }
}
