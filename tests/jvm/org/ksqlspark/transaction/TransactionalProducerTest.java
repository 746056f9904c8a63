package org.ksqlspark.transaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ksqlspark.internals.kafka.SizeLimit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

class TransactionalProducerTest {
    @TempDir Path checkpoint;
    private MockProducer<byte[], byte[]> kafka;
    private TransactionalProducer producer;

    @BeforeEach
    void open() throws IOException {
        Files.writeString(checkpoint.resolve("metadata"), "{\"id\":\"x\"}");
        Files.createDirectory(checkpoint.resolve("offsets"));
        for (int batch : List.of(0, 1, 2)) {
            Files.writeString(checkpoint.resolve("offsets/" + batch), "offsets of " + batch);
        }
        var bytes = new ByteArraySerializer();
        kafka = new MockProducer<>(true, null, bytes, bytes);
        kafka.initTransactions();
        var limit = new SizeLimit(1000, 1000, Map.of());
        producer = new TransactionalProducer(kafka, "commits", limit, "900000", "a log", "q");
    }

    private static ProducerRecord<byte[], byte[]> record(int bytes) {
        return new ProducerRecord<>("sink", new byte[] {1}, new byte[bytes]);
    }

    private void commit(long batch) throws IOException {
        producer.commit(
                batch,
                ("commit of " + batch).getBytes(),
                path -> Files.readString(checkpoint.resolve(path)));
    }

    @Test
    void aBatchIsVisibleTogetherWithItsCommit() throws IOException {
        producer.begin();
        producer.send(record(10));
        producer.send(record(20));
        assertEquals(0, kafka.history().size());
        commit(0);
        assertEquals(3, kafka.history().size());
        ProducerRecord<byte[], byte[]> last = kafka.history().get(2);
        assertEquals("commits", last.topic());
        JsonNode done = new ObjectMapper().readTree(last.value());
        assertEquals(0, done.get("batch").asLong());
        assertEquals("{\"id\":\"x\"}", done.get("checkpoint").asText());
        assertEquals("offsets of 0", done.get("offsets").asText());
        assertEquals("commit of 0", done.get("commit").asText());
    }

    @Test
    void aBatchWithoutResultsNeedsNoTransaction() throws IOException {
        producer.begin();
        commit(0);
        assertEquals(0, kafka.commitCount());
        producer.begin();
        producer.send(record(10));
        commit(1);
        assertEquals(1, kafka.commitCount());
        assertEquals(2, kafka.history().size());
    }

    @Test
    void aRecordThatIsTooLargeDoesNotEndTheTransaction() throws IOException {
        producer.begin();
        producer.send(record(1000));
        producer.send(record(10));
        commit(0);
        assertEquals(2, kafka.history().size());
    }

    @Test
    void whatSomebodyElseHasTakenOverIsNotCommitted() {
        producer.begin();
        producer.send(record(10));
        kafka.commitTransactionException = new ProducerFencedException("fenced");
        var failed = assertThrows(IllegalStateException.class, () -> commit(0));
        assertTrue(failed.getMessage().contains("transaction.timeout.ms (900000)"));
        assertEquals(0, kafka.history().size());
    }

    @Test
    void theEndOfARunLeavesNothingVisible() {
        producer.begin();
        producer.send(record(10));
        producer.close();
        assertTrue(kafka.closed());
        assertFalse(kafka.transactionCommitted());
        assertEquals(0, kafka.history().size());
    }
}
