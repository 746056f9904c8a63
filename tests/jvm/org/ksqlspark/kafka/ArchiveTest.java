package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.conf.Configuration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

class ArchiveTest {
    private static final TopicPartition AT = new TopicPartition("t", 1);
    private static final MessageType SCHEMA =
            MessageTypeParser.parseMessageType(
                    "message m { optional binary topic (STRING); optional int64 offset;"
                            + " optional int64 timestamp; optional binary key; optional group"
                            + " headers (LIST) { repeated group list { optional group element {"
                            + " optional binary key (STRING); optional binary value; } } }"
                            + " optional binary value; }");

    @TempDir Path folder;

    /** Of manifests: a file, its size and offsets. */
    private final Map<Path, List<String>> recent = new HashMap<>();

    /** A file of a commit with records of these offsets. */
    private String file(long commit, String day, long... offsets) throws IOException {
        String name = String.format("day=%s/partition=1/part-%020d.parquet", day, commit);
        Files.createDirectories(folder.resolve(name).getParent());
        Configuration alone = new Configuration();
        alone.setBoolean("fs.file.impl.disable.cache", true); // other tests have their own
        try (ParquetWriter<Group> writer =
                ExampleParquetWriter.builder(
                                new org.apache.hadoop.fs.Path(folder.resolve(name).toUri()))
                        .withConf(alone)
                        .withType(SCHEMA)
                        .build()) {
            for (long offset : offsets) {
                Group row = new SimpleGroupFactory(SCHEMA).newGroup();
                row.append("topic", "t").append("offset", offset).append("timestamp", -1000L);
                if (offset % 2 == 0) {
                    row.append("value", "v" + offset);
                    Group header = row.addGroup("headers").addGroup(0).addGroup(0);
                    header.append("key", "h");
                }
                writer.write(row);
            }
        }
        long first = offsets[0];
        long last = offsets[offsets.length - 1];
        recent.computeIfAbsent(folder, path -> new ArrayList<>())
                .add("\"" + name + "\":[1," + first + "," + last + "]");
        return name;
    }

    private void manifest(long commit, long end, String... files) throws IOException {
        Files.createDirectories(folder.resolve("_ksql"));
        StringBuilder named = new StringBuilder();
        for (String file : files) {
            named.append(named.isEmpty() ? "" : ",").append("\"").append(file);
            named.append(".tmp\":\"").append(file).append("\"");
        }
        Files.writeString(
                folder.resolve("_ksql").resolve(String.format("%020d.json", commit)),
                "{\"positions\":{\"t:1\":{\"1\":"
                        + end
                        + "}},\"files\":{"
                        + named
                        + "},\"recent\":{"
                        + String.join(",", recent.getOrDefault(folder, List.of()))
                        + "}}");
    }

    private Archive open(long from, long until) {
        return Archive.open(folder.toString(), "t:1", AT, from, until);
    }

    private static List<Long> offsets(Archive archive) {
        List<Long> found = new ArrayList<>();
        while (!archive.isOver()) {
            for (ConsumerRecord<byte[], byte[]> record : archive.next(2)) {
                assertTrue(archive.position() > record.offset());
                found.add(record.offset());
            }
        }
        archive.close();
        return found;
    }

    @Test
    void recordsComeInTheOrderOfTheirOffsets() throws IOException {
        manifest(1, 6, file(1, "a", 0, 2, 3), file(1, "b", 1, 5));
        manifest(2, 10, file(2, "a", 8, 9));
        assertEquals(List.of(0L, 1L, 2L, 3L, 5L, 8L, 9L), offsets(open(0, 20)));
        assertEquals(List.of(3L, 5L, 8L), offsets(open(3, 9)));
        assertEquals(List.of(8L, 9L), offsets(open(6, 20)));
        Archive archive = open(9, 20);
        assertEquals(List.of(9L), offsets(archive));
        assertEquals(10, archive.position());
    }

    @Test
    void itIsReadFromAnyOffsetToAnyOther() throws IOException {
        Path root = folder;
        for (int seed = 0; seed < 50; seed++) {
            Random choose = new Random(seed);
            folder = Files.createDirectory(root.resolve("seed" + seed));
            List<Long> all = new ArrayList<>();
            long end = choose.nextInt(3);
            int commits = 1 + choose.nextInt(5);
            for (int commit = 1; commit <= commits; commit++) {
                Map<String, List<Long>> days = new TreeMap<>();
                for (int i = choose.nextInt(6); i >= 0; i--) {
                    end += 1 + choose.nextInt(3) / 2; // offsets without a record, now and then
                    all.add(end - 1);
                    days.computeIfAbsent("d" + choose.nextInt(3), day -> new ArrayList<>())
                            .add(end - 1);
                }
                List<String> files = new ArrayList<>();
                for (var day : days.entrySet()) {
                    long[] offsets = day.getValue().stream().mapToLong(o -> o).toArray();
                    files.add(file(commit, day.getKey(), offsets));
                }
                manifest(commit, end, files.toArray(String[]::new));
            }
            for (long from = 0; from < end; from++) {
                long until = from + 1 + choose.nextInt((int) (end - from) + 1);
                List<Long> wanted = new ArrayList<>(all);
                long first = from;
                wanted.removeIf(offset -> offset < first || offset >= until);
                Archive archive = open(from, until);
                assertEquals(wanted, offsets(archive));
                assertEquals(Math.min(until, end), archive.position());
            }
        }
    }

    @Test
    void aRecordIsWhatItWas() throws IOException {
        manifest(1, 2, file(1, "a", 0, 1));
        Archive archive = open(0, 20);
        List<ConsumerRecord<byte[], byte[]>> found = archive.next(10);
        assertEquals("v0", new String(found.get(0).value()));
        assertEquals("h", found.get(0).headers().lastHeader("h").key());
        assertNull(found.get(0).headers().lastHeader("h").value());
        assertNull(found.get(1).value());
        assertNull(found.get(1).key());
        assertEquals(-1, found.get(1).timestamp());
        assertEquals(1, found.get(1).partition());
        assertEquals(0, found.get(1).headers().toArray().length);
        archive.close();
    }

    @Test
    void aCommitIsReadBeforeItsFilesHaveTheirNames() throws IOException {
        manifest(1, 2, file(1, "a", 0, 1));
        String second = file(2, "a", 2, 3);
        manifest(2, 4, second);
        Path staged = folder.resolve("_ksql").resolve(second + ".tmp");
        Files.createDirectories(staged.getParent());
        Files.move(folder.resolve(second), staged);
        assertEquals(List.of(0L, 1L, 2L, 3L), offsets(open(0, 20)));
        Archive archive = open(1, 20);
        Files.move(staged, folder.resolve(second)); // the commit is published under the reader
        assertEquals(List.of(1L, 2L, 3L), offsets(archive));
    }

    @Test
    void aBatchNeedsTheNamesOfFilesThatItReads() throws IOException {
        String first = file(1, "a", 0, 1);
        manifest(1, 2, first);
        String second = file(2, "a", 2, 3);
        manifest(2, 4, second);
        Path staged = folder.resolve("_ksql").resolve(second + ".tmp");
        Files.createDirectories(staged.getParent());
        Files.move(folder.resolve(second), staged);
        String path = folder.toString();
        assertEquals(List.of(path + "/" + first), Archive.files(path, "{\"1\": 2}"));
        RuntimeException error =
                assertThrows(IllegalStateException.class, () -> Archive.files(path, "{\"1\": 3}"));
        assertTrue(error.getMessage().contains("commit 2 is not published yet"));
    }

    @Test
    void aFolderWithoutManifestsIsNoArchive() {
        for (Executable use :
                List.<Executable>of(
                        () -> open(0, 20), () -> Archive.files(folder.toString(), "{\"1\": 2}"))) {
            RuntimeException error = assertThrows(IllegalStateException.class, use);
            assertTrue(error.getMessage().contains("there is no archive"));
        }
    }

    @Test
    void anArchiveHasNothingOfOtherTopics() throws IOException {
        manifest(1, 2, file(1, "a", 0, 1));
        assertNotNull(open(0, 20));
        assertNull(Archive.open(folder.toString(), "t:2", AT, 0, 20));
        assertNull(Archive.open(folder.toString(), "t:1", new TopicPartition("t", 0), 0, 20));
    }

    @Test
    void aCompactionUnderAReaderChangesNothing() throws IOException {
        for (int seed = 0; seed < 30; seed++) {
            int at = seed;
            Path root = Files.createDirectory(folder.resolve("seed" + seed));
            Path before = folder;
            folder = root;
            List<Long> all = new ArrayList<>();
            List<String> files = new ArrayList<>();
            for (long commit = 1; commit <= 6; commit++) {
                files.add(file(commit, "a", 3 * commit, 3 * commit + 1));
                all.addAll(List.of(3 * commit, 3 * commit + 1));
                manifest(commit, 3 * commit + 2, files.get(files.size() - 1));
            }
            Archive archive = open(0, 100);
            List<Long> found = new ArrayList<>();
            for (int i = 0; i < at % 13 && found.size() < 12; i++) {
                archive.next(1).forEach(record -> found.add(record.offset()));
            }
            recent.get(folder).clear();
            Files.createDirectories(folder.resolve("_ksql"));
            long[] offsets = all.stream().mapToLong(o -> o).toArray();
            manifest(7, 20, file(7, "a", offsets));
            for (String name : files) {
                Files.delete(folder.resolve(name));
            }
            found.addAll(offsets(archive));
            assertEquals(all, found);
            folder = before;
        }
    }

    @Test
    void listsOfFilesBelongToTheManifest() throws IOException {
        String old = file(1, "a", 0, 1);
        Files.createDirectories(folder.resolve("_ksql"));
        Files.writeString(
                folder.resolve("_ksql/00000000000000000001-a.list"), "{\"" + old + "\":[1,0,1]}");
        recent.get(folder).clear();
        file(2, "b", 2, 4);
        Files.writeString(
                folder.resolve("_ksql/00000000000000000002.json"),
                "{\"positions\":{\"t:1\":{\"1\":5}},\"files\":{},\"lists\":[\"00000000000000000001-a.list\"],"
                    + "\"recent\":{"
                        + recent.get(folder).get(0)
                        + "}}");
        assertEquals(List.of(0L, 1L, 2L, 4L), offsets(open(0, 20)));
        assertEquals(
                List.of(folder + "/" + old),
                Archive.files(folder.toString(), "{\"1\": 2, \"0\": 9}"));
    }

    @Test
    void aFileThatIsNeitherThereNorReplacedIsTold() throws IOException {
        manifest(1, 2, file(1, "a", 0, 1));
        manifest(2, 4, file(2, "a", 2, 3));
        Archive archive = open(0, 20);
        Files.delete(folder.resolve(String.format("day=a/partition=1/part-%020d.parquet", 1)));
        RuntimeException error = assertThrows(IllegalStateException.class, () -> offsets(archive));
        assertTrue(error.getMessage().startsWith("The archive " + folder));
    }

    @Test
    void whatIsNotThereIsTold() {
        RuntimeException error = assertThrows(IllegalStateException.class, () -> open(0, 20));
        assertTrue(error.getMessage().startsWith("The archive " + folder));
    }
}
