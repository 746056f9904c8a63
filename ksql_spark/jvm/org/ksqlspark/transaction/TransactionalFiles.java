package org.ksqlspark.transaction;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.ksqlspark.ownership.OwnedFiles;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Spark's checkpoint files of queries that are exactly once
 * (spark.sql.streaming.checkpointFileManagerClass): before commits/N is written, the batch's
 * transaction is committed, with the file's text in it.
 *
 * <p>Setting "spark.ksql.run": the id of the query's run.
 */
public final class TransactionalFiles extends OwnedFiles {
    private final String run;

    public TransactionalFiles(Path path, Configuration settings) throws IOException {
        super(path, settings);
        run = settings.get("spark.ksql.run");
    }

    @Override
    public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrites) {
        Path parent = path.getParent();
        boolean isCommit = parent != null && parent.getName().equals("commits");
        return isCommit ? new Commit(path, overwrites) : plain(path, overwrites);
    }

    private CancellableFSDataOutputStream plain(Path path, boolean overwrites) {
        return super.createAtomic(path, overwrites);
    }

    private String read(Path path) throws IOException {
        try (InputStream file = open(path)) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** The file commits/N: its text is kept until it is complete. */
    private final class Commit extends CancellableFSDataOutputStream {
        private final Path path;
        private final boolean overwrites;
        private boolean isClosed;

        Commit(Path path, boolean overwrites) {
            super(new ByteArrayOutputStream());
            this.path = path;
            this.overwrites = overwrites;
        }

        @Override
        public void close() {
            if (isClosed) {
                return;
            }
            isClosed = true;
            byte[] text = ((ByteArrayOutputStream) underlyingStream()).toByteArray();
            try {
                Path checkpoint = path.getParent().getParent();
                TransactionalProducer.opened(run)
                        .commit(
                                Long.parseLong(path.getName()),
                                text,
                                name -> read(new Path(checkpoint, name)));
                CancellableFSDataOutputStream file = plain(path, overwrites);
                file.write(text);
                file.close();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        @Override
        public void cancel() {
            isClosed = true;
        }
    }
}
