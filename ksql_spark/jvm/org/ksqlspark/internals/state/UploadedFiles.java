package org.ksqlspark.internals.state;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Checkpoint files in an object store: a file is there once its upload is complete, under its own
 * name from the beginning, because a store would copy what it renames.
 */
public final class UploadedFiles extends FileSystemBasedCheckpointFileManager {
    /** A folder needs no object of its own, and is not looked for. */
    private static final String NO_FOLDERS = "fs.s3a.create.performance";

    /** The store refuses to replace a file, also one that came since the upload was begun. */
    private static final String ONLY_NEW = "fs.option.create.conditional.overwrite";

    UploadedFiles(Path path, Configuration settings) {
        super(path, settings);
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrites) {
        try {
            if (!overwrites && fs().exists(path)) {
                throw new FileAlreadyExistsException(path + " is there already");
            }
            FSDataOutputStreamBuilder<?, ?> file = fs().createFile(path);
            file.overwrite(overwrites).recursive();
            file.opt(NO_FOLDERS, true);
            if (!overwrites) {
                file.opt(ONLY_NEW, true);
            }
            return new Upload(file.build());
        } catch (IOException failed) {
            throw thrown(failed);
        }
    }

    /** As it is: Spark's interface, in Scala, declares no exceptions, but expects these. */
    @SuppressWarnings("unchecked")
    static <E extends Exception> RuntimeException thrown(Exception failed) throws E {
        throw (E) failed;
    }

    /** A file that is visible once it is closed. */
    private static final class Upload extends CancellableFSDataOutputStream {
        private final FSDataOutputStream file;
        private boolean isOver;

        Upload(FSDataOutputStream file) {
            super(file);
            this.file = file;
        }

        @Override
        public void close() {
            if (!isOver) {
                isOver = true;
                try {
                    super.close();
                } catch (IOException failed) {
                    throw new UncheckedIOException(failed);
                }
            }
        }

        @Override
        public void cancel() {
            if (!isOver) {
                isOver = true;
                file.abort();
            }
        }
    }
}
