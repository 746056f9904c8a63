package org.ksqlspark.kafka;

import static org.apache.parquet.filter2.predicate.FilterApi.and;
import static org.apache.parquet.filter2.predicate.FilterApi.gtEq;
import static org.apache.parquet.filter2.predicate.FilterApi.longColumn;
import static org.apache.parquet.filter2.predicate.FilterApi.lt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.api.ReadSupport;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.LocalInputFile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The records of one partition that an archive has and the topic has no more, in the order of their
 * offsets.
 *
 * <p>An archive is a folder of Parquet files that a sink has written (lake/parquet.py): files
 * called part-N.parquet below folders partition=P, where N is the number of a commit, and manifests
 * _ksql/N.json, which say how far the archive was complete then. Within a file, offsets ascend; so
 * they do from commit to commit.
 */
final class Archive implements AutoCloseable {
    private static final Pattern FILE = Pattern.compile("part-(\\d+)(?:-\\d+)?\\.parquet");
    private static final Pattern MANIFEST = Pattern.compile("(\\d+)\\.json");
    private static final String OWN = "_ksql";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The files of a commit: their offsets overlap. */
    private record Commit(List<Path> files) {}

    /** A file that is being read, and its next record. */
    private static final class Cursor {
        private final ParquetReader<Group> reader;
        private Group next;

        Cursor(ParquetReader<Group> reader) throws IOException {
            this.reader = reader;
            next = reader.read();
        }

        long offset() {
            return next.getLong("offset", 0);
        }
    }

    private final String folder;
    private final TopicPartition at;
    private final long until;
    private final List<Commit> commits;
    private int commit;
    private final PriorityQueue<Cursor> cursors =
            new PriorityQueue<>(Comparator.comparingLong(Cursor::offset));
    private long position;

    private Archive(String folder, TopicPartition at, long from, long until, List<Commit> commits) {
        this.folder = folder;
        this.at = at;
        this.until = until;
        this.commits = commits;
        position = from;
    }

    /**
     * What an archive has of a partition.
     *
     * @param folder the archive's
     * @param topic name and id of the topic, which the archive must be of
     * @param from the first offset that is wanted
     * @param until the first one that is not
     * @return null: the archive has nothing there
     */
    static Archive open(String folder, String topic, TopicPartition at, long from, long until) {
        try {
            Path path = Path.of(folder);
            Complete complete = complete(path, topic, at.partition());
            if (complete.until <= from) {
                return null;
            }
            List<Commit> commits = commits(path, at.partition(), complete.commit);
            long end = Math.min(until, complete.until);
            Archive made = new Archive(folder, at, from, end, commits);
            made.commit = firstCommit(commits, from);
            return made;
        } catch (IOException failed) {
            throw failure(folder, failed);
        }
    }

    /**
     * The last commit whose files all have their names, and the offset up to which it is complete.
     */
    private record Complete(long commit, long until) {}

    private static Complete complete(Path folder, String topic, int partition) throws IOException {
        TreeMap<Long, Path> manifests = new TreeMap<>();
        try (Stream<Path> there = Files.list(folder.resolve(OWN))) {
            there.forEach(
                    path -> {
                        Matcher name = MANIFEST.matcher(path.getFileName().toString());
                        if (name.matches()) {
                            manifests.put(Long.parseLong(name.group(1)), path);
                        }
                    });
        }
        for (var manifest : manifests.descendingMap().entrySet()) {
            JsonNode found = JSON.readTree(Files.readAllBytes(manifest.getValue()));
            boolean isThere = true;
            for (JsonNode file : found.path("files")) {
                isThere &= Files.exists(folder.resolve(file.asText()));
            }
            if (isThere) {
                long until =
                        found.path("positions")
                                .path(topic)
                                .path(String.valueOf(partition))
                                .asLong(0);
                return new Complete(manifest.getKey(), until);
            }
        }
        return new Complete(0, 0);
    }

    private static IllegalStateException failure(String folder, IOException failed) {
        return new IllegalStateException(
                "The archive " + folder + " cannot be read: " + failed, failed);
    }

    private static List<Commit> commits(Path folder, int partition, long last) throws IOException {
        TreeMap<Long, Commit> found = new TreeMap<>();
        try (Stream<Path> days = Files.list(folder)) {
            for (Path day : (Iterable<Path>) days::iterator) {
                Path own = day.resolve("partition=" + partition);
                if (!Files.isDirectory(own)) {
                    continue;
                }
                try (Stream<Path> files = Files.list(own)) {
                    for (Path file : (Iterable<Path>) files::iterator) {
                        Matcher name = FILE.matcher(file.getFileName().toString());
                        if (name.matches() && Long.parseLong(name.group(1)) <= last) {
                            found.computeIfAbsent(
                                            Long.parseLong(name.group(1)),
                                            number -> new Commit(new ArrayList<>()))
                                    .files
                                    .add(file);
                        }
                    }
                }
            }
        }
        return List.copyOf(found.values());
    }

    /** The number of the first commit with an offset that is not below {@code from}. */
    private static int firstCommit(List<Commit> commits, long from) throws IOException {
        int low = 0;
        int high = commits.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            long last = Long.MIN_VALUE;
            for (Path file : commits.get(middle).files) {
                last = Math.max(last, lastOffset(file));
            }
            if (last < from) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static long lastOffset(Path file) throws IOException {
        long last = Long.MIN_VALUE;
        try (ParquetFileReader reader = ParquetFileReader.open(new LocalInputFile(file))) {
            for (BlockMetaData block : reader.getFooter().getBlocks()) {
                for (ColumnChunkMetaData column : block.getColumns()) {
                    if (column.getPath().toDotString().equals("offset")) {
                        Object most = column.getStatistics().genericGetMax();
                        last = Math.max(last, most == null ? Long.MAX_VALUE : (Long) most);
                    }
                }
            }
        }
        return last;
    }

    /**
     * Reads files without Hadoop's file systems: whoever asks for the first of these decides which
     * one checkpoints get.
     */
    private static final class Reader extends ParquetReader.Builder<Group> {
        Reader(Path file) {
            super(new LocalInputFile(file));
        }

        @Override
        protected ReadSupport<Group> getReadSupport() {
            return new GroupReadSupport();
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
        try {
            while (found.size() < most && hasNext()) {
                Cursor first = cursors.poll();
                found.add(record(first.next));
                first.next = first.reader.read();
                if (first.next == null) {
                    first.reader.close();
                } else {
                    cursors.add(first);
                }
            }
        } catch (IOException failed) {
            throw failure(folder, failed);
        }
        position =
                found.isEmpty()
                        ? until
                        : Math.max(position, found.get(found.size() - 1).offset() + 1);
        return found;
    }

    private boolean hasNext() throws IOException {
        while (cursors.isEmpty() && commit < commits.size()) {
            var wanted = and(gtEq(longColumn("offset"), position), lt(longColumn("offset"), until));
            for (Path file : commits.get(commit).files) {
                ParquetReader<Group> reader =
                        new Reader(file).withFilter(FilterCompat.get(wanted)).build();
                Cursor cursor = new Cursor(reader);
                if (cursor.next == null) {
                    reader.close();
                } else {
                    cursors.add(cursor);
                }
            }
            commit++;
        }
        return !cursors.isEmpty();
    }

    private ConsumerRecord<byte[], byte[]> record(Group row) {
        byte[] key = bytes(row, "key");
        byte[] value = bytes(row, "value");
        long micros = row.getLong("timestamp", 0);
        return new ConsumerRecord<>(
                at.topic(),
                at.partition(),
                row.getLong("offset", 0),
                Math.floorDiv(micros, 1000),
                TimestampType.CREATE_TIME,
                key == null ? ConsumerRecord.NULL_SIZE : key.length,
                value == null ? ConsumerRecord.NULL_SIZE : value.length,
                key,
                value,
                headers(row),
                Optional.empty());
    }

    private static byte[] bytes(Group row, String name) {
        return row.getFieldRepetitionCount(name) == 0 ? null : row.getBinary(name, 0).getBytes();
    }

    private static Headers headers(Group row) {
        Headers made = new RecordHeaders();
        if (row.getFieldRepetitionCount("headers") > 0) {
            Group list = row.getGroup("headers", 0);
            for (int i = 0; i < list.getFieldRepetitionCount(0); i++) {
                Group header = list.getGroup(0, i).getGroup(0, 0);
                made.add(header.getString("key", 0), bytes(header, "value"));
            }
        }
        return made;
    }

    @Override
    public void close() {
        for (Cursor cursor : cursors) {
            try {
                cursor.reader.close();
            } catch (IOException failed) {
                throw failure(folder, failed);
            }
        }
        cursors.clear();
    }
}
