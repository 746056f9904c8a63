package org.ksqlspark.cluster;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's checkpoint files (spark.sql.streaming.checkpointFileManagerClass), which several servers
 * may reach: only the one that owns the query writes them.
 */
public class OwnedFiles extends FileSystemBasedCheckpointFileManager {
    private final boolean isOwned;

    /** Spark calls this constructor. */
    public OwnedFiles(Path path, Configuration settings) {
        super(path, settings);
        // folders of push queries, which belong to the server that was asked
        isOwned = !path.toString().contains("/transient_");
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrites) {
        if (isOwned) {
            Ownership.check();
        }
        return super.createAtomic(path, overwrites);
    }
}
