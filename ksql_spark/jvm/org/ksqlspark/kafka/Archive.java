package org.ksqlspark.kafka;

import static org.apache.parquet.filter2.predicate.FilterApi.and;
import static org.apache.parquet.filter2.predicate.FilterApi.gtEq;
import static org.apache.parquet.filter2.predicate.FilterApi.longColumn;
import static org.apache.parquet.filter2.predicate.FilterApi.lt;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.io.ParquetDecodingException;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The records of one partition that an archive has and the topic has no more, in the order of their
 * offsets.
 *
 * <p>An archive is a folder of Parquet files that a sink has written (lake/parquet.py), below
 * folders partition=P. Which files there are, with which offsets, and how far the archive is
 * complete, is in manifests (Manifest.java). Within a file, offsets ascend.
 */
public final class Archive implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** How often in a row files may be gone, because a compaction has replaced them. */
    private static final int MOST_ATTEMPTS = 5;

    /** How often a batch looks for the names of files, and after which pauses. */
    private static final int MOST_LOOKS = 25;

    private static final long LOOK_MS = 200;

    /** A file that is being read, and its next record. */
    private final class Cursor {
        private final ParquetReader<ConsumerRecord<byte[], byte[]>> reader;

        /** null: nothing that is wanted is left. */
        private ConsumerRecord<byte[], byte[]> next;

        Cursor(ParquetReader<ConsumerRecord<byte[], byte[]>> reader) throws IOException {
            this.reader = reader;
            do {
                advance();
            } while (next != null && next.offset() < position);
        }

        void advance() throws IOException {
            next = reader.read();
            if (next == null || next.offset() >= until) {
                next = null;
                reader.close();
            }
        }

        long offset() {
            return next.offset();
        }
    }

    private final String path;
    private final String topic;
    private final TopicPartition at;
    private final long until;

    private ArchiveFolder folder;
    private Manifest manifest;

    /** Files that are not open yet, by their first offsets. */
    private ArrayDeque<Manifest.Part> parts;

    private final PriorityQueue<Cursor> cursors =
            new PriorityQueue<>(Comparator.comparingLong(Cursor::offset));
    private long position;
    private int attempts;

    private Archive(String path, String topic, TopicPartition at, long from, long until) {
        this.path = path;
        this.topic = topic;
        this.at = at;
        this.until = until;
        position = from;
    }

    /**
     * What an archive has of a partition.
     *
     * @param path the archive's folder
     * @param topic name and id of the topic, which the archive must be of
     * @param from the first offset that is wanted
     * @param until the first one that is not
     * @return null: the archive has nothing there
     */
    static Archive open(String path, String topic, TopicPartition at, long from, long until) {
        try {
            long end = newest(ArchiveFolder.of(path)).end(topic, at.partition());
            if (end <= from) {
                return null;
            }
            Archive made = new Archive(path, topic, at, from, Math.min(until, end));
            made.find();
            return made;
        } catch (IOException failed) {
            throw failure(path, failed);
        }
    }

    /**
     * The files of an archive with offsets below those where its topic begins, with their names, of
     * which Spark takes the values of columns.
     *
     * @param path the archive's folder
     * @param begins JSON, partition to offset
     */
    public static List<String> files(String path, String begins) {
        for (int attempt = 1; ; attempt++) {
            try {
                return named(ArchiveFolder.of(path), path, begins);
            } catch (IOException failed) {
                if (!ArchiveFolder.isMissing(failed) || attempt == MOST_LOOKS) {
                    throw failure(path, failed);
                }
            }
            // a commit gives its files their names within moments, unless its writer has stopped
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_MS));
        }
    }

    private static List<String> named(ArchiveFolder folder, String path, String begins)
            throws IOException {
        Manifest manifest = newest(folder);
        List<String> found = new ArrayList<>();
        for (var begin : JSON.readTree(begins).properties()) {
            int partition = Integer.parseInt(begin.getKey());
            for (Manifest.Part part :
                    manifest.parts(folder, partition, 0, begin.getValue().asLong())) {
                if (!manifest.place(folder, part.name()).equals(part.name())) {
                    throw new FileNotFoundException(
                            "commit " + manifest.number() + " is not published yet");
                }
                found.add(path + "/" + part.name());
            }
        }
        return found;
    }

    /** The newest manifest; CREATE SINK has made the first one. */
    private static Manifest newest(ArchiveFolder folder) throws IOException {
        try {
            Manifest found = Manifest.newest(folder);
            if (found.number() > 0) {
                return found;
            }
        } catch (IOException failed) {
            if (!ArchiveFolder.isMissing(failed)) {
                throw failed;
            }
        }
        throw new IOException("there is no archive: the folder, or what it had in _ksql, is gone");
    }

    /** Without its cause: the driver cannot read those of an object store's client. */
    private static IllegalStateException failure(String path, Exception failed) {
        return new IllegalStateException("The archive " + path + " cannot be read: " + failed);
    }

    /** Finds the files from the position on. */
    private void find() throws IOException {
        folder = ArchiveFolder.of(path);
        for (int attempt = 1; ; attempt++) {
            try {
                manifest = newest(folder);
                if (manifest.end(topic, at.partition()) < until) {
                    throw new IOException("its newest commits are gone");
                }
                var found = manifest.parts(folder, at.partition(), position, until);
                parts = new ArrayDeque<>(found);
                return;
            } catch (IOException failed) {
                if (!ArchiveFolder.isMissing(failed) || attempt == MOST_ATTEMPTS) {
                    throw failed;
                }
            }
        }
    }

    /** The offset of what comes next; at the end, of what the topic must have. */
    long position() {
        return position;
    }

    /** Whether nothing is left. */
    boolean isOver() {
        return position >= until;
    }

    /**
     * The next records.
     *
     * @param most how many at the most; none if nothing is left
     */
    List<ConsumerRecord<byte[], byte[]>> next(int most) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        while (found.size() < most) {
            try {
                Cursor first = first();
                if (first == null) {
                    break;
                }
                ConsumerRecord<byte[], byte[]> record = first.next;
                found.add(record);
                position = record.offset() + 1;
                first.advance();
                cursors.poll();
                if (first.next != null) {
                    cursors.add(first);
                }
                attempts = 0;
            } catch (IOException | ParquetDecodingException failed) {
                again(failed);
            }
        }
        if (found.isEmpty()) {
            position = until;
        }
        return found;
    }

    /** Goes on from the position with the files that are there now. */
    private void again(Exception failed) {
        if (!ArchiveFolder.isMissing(failed) || ++attempts > MOST_ATTEMPTS) {
            throw failure(path, failed);
        }
        try {
            close();
            find();
        } catch (IOException again) {
            throw failure(path, again);
        }
    }

    /** The file with the next record; null: there is none. */
    private Cursor first() throws IOException {
        while (!parts.isEmpty()
                && (cursors.isEmpty() || parts.peek().first() <= cursors.peek().offset())) {
            // of groups of rows: cursors leave out single records
            var wanted = and(gtEq(longColumn("offset"), position), lt(longColumn("offset"), until));
            String place = manifest.place(folder, parts.poll().name());
            Cursor cursor =
                    new Cursor(
                            ArchivedRecords.reader(folder.parquet(place), at)
                                    .withFilter(FilterCompat.get(wanted))
                                    .useRecordFilter(false)
                                    .build());
            if (cursor.next != null) {
                cursors.add(cursor);
            }
        }
        return cursors.peek();
    }

    @Override
    public void close() {
        for (Cursor cursor : cursors) {
            try {
                cursor.reader.close();
            } catch (IOException failed) {
                throw failure(path, failed);
            }
        }
        cursors.clear();
    }
}
