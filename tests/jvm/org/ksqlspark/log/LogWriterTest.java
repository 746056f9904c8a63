package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;

/** LogWriter and LogEntry. */
class LogWriterTest {
    private final MockProducer<byte[], byte[]> topic =
            new MockProducer<>(true, null, new ByteArraySerializer(), new ByteArraySerializer());
    private final LogWriter writer = new LogWriter("log", () -> topic);

    private List<JsonNode> written() throws IOException, InterruptedException {
        writer.close();
        ObjectMapper json = new ObjectMapper();
        List<JsonNode> found = new java.util.ArrayList<>();
        for (var record : topic.history()) {
            assertEquals("log", record.topic());
            found.add(json.readTree(record.value()));
        }
        return found;
    }

    @Test
    void anEntryHasTheMemberOfItsTypeAndNullForTheOthers() throws Exception {
        writer.start();
        writer.add(
                "processing.Q.Project",
                () ->
                        LogEntry.of(
                                "processing.Q.Project",
                                "ERROR",
                                LogEntry.Type.SERIALIZATION,
                                json -> LogEntry.causes(json, "why")));
        JsonNode entry = written().get(0);
        assertEquals(
                "ERROR processing.Q.Project", text(entry, "level") + " " + text(entry, "logger"));
        assertEquals(
                "{\"type\":3,\"deserializationError\":null,\"recordProcessingError\":null,"
                        + "\"productionError\":null,\"serializationError\":{\"cause\":[\"why\"]},"
                        + "\"kafkaStreamsThreadError\":null}",
                entry.path("message").toString());
    }

    private static String text(JsonNode entry, String member) {
        return entry.path(member).asText();
    }

    @Test
    void aLoggerThatWritesTooMuchSaysHowManyEntriesItLeftOut() throws Exception {
        writer.start();
        Supplier<String> entry = () -> "{\"level\": \"ERROR\"}";
        int added = 3 * Allowance.MAX_PER_SECOND;
        for (int i = 0; i < added; i++) {
            writer.add("processing.Q", entry);
        }
        List<JsonNode> found = written();
        long errors = found.stream().filter(e -> text(e, "level").equals("ERROR")).count();
        long leftOut =
                found.stream()
                        .map(e -> e.at("/message/recordProcessingError/errorMessage").asText())
                        .filter(e -> e.endsWith(" more entries of this logger were left out."))
                        .mapToLong(e -> Long.parseLong(e.substring(0, e.indexOf(' '))))
                        .sum();
        assertTrue(errors < added, "some were left out");
        assertEquals(added, errors + leftOut);
    }

    @Test
    void ofLateRowsSoManyAreWrittenAndTheRestIsCounted() throws Exception {
        writer.start();
        LateRow.Lateness found = new LateRow.Lateness(99, 5L, 10L, 20L);
        LateRow row = new LateRow("t", 2, 7, "{\"K\":1}", null, 11, found);
        for (int i = 0; i < 5; i++) {
            writer.add(
                    "processing.Q.Late.Join",
                    () -> new Allowance(2, LogEntry::lateLeftOut),
                    () -> LogEntry.late("processing.Q.Late.Join", row));
        }
        List<JsonNode> all = written();
        long omitted = all.stream().mapToLong(e -> e.at("/late/omitted").asLong()).sum();
        List<JsonNode> rows = all.stream().filter(e -> e.has("input")).toList();
        assertEquals(5, rows.size() + omitted);
        assertTrue(omitted > 0, "one second allows 2, two seconds 4");
        JsonNode entry = rows.get(0);
        assertEquals("INFO", text(entry, "level"));
        assertTrue(entry.get("message").isNull(), "it is no error");
        assertEquals("{\"topic\":\"t\",\"partition\":2,\"offset\":7}", text(entry.get("input")));
        assertEquals(
                "{\"key\":\"{\\\"K\\\":1}\",\"value\":null,\"eventTime\":11,\"streamTime\":99,"
                        + "\"windowStart\":10,\"windowEnd\":20,\"grace\":5}",
                text(entry.get("late")));
    }

    private static String text(JsonNode node) {
        return node.toString();
    }

    @Test
    void nothingIsMadeForALogThatCannotBeWritten() {
        boolean[] isMade = {false};
        writer.add("processing.Q", () -> String.valueOf(isMade[0] = true));
        assertFalse(isMade[0]);
    }
}
