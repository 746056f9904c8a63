package org.ksqlspark.internals.kafka;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Map;

class SizeLimitTest {
    /** Of a batch with one record that has a key of a byte and a value of some thousands. */
    private static final int AROUND = 61 + 10;

    private static ProducerRecord<byte[], byte[]> record(int bytes) {
        return new ProducerRecord<>("sink", new byte[] {1}, new byte[bytes]);
    }

    @Test
    void aRecordThatFillsAMessageIsSent() {
        var limit = new SizeLimit(1_000_000, 2000 + AROUND, Map.of());
        assertNull(limit.refusal(record(2000)));
        assertNotNull(limit.refusal(record(2001)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "snappy", "lz4", "zstd"})
    void brokersTakeWhatIsSmallOnceItIsCompressed(String type) {
        Map<String, String> settings = Map.of("compression.type", type);
        assertNull(new SizeLimit(1_000_000, 10_000, settings).refusal(record(100_000)));
        assertNotNull(new SizeLimit(1_000_000, 50, settings).refusal(record(100_000)));
    }

    @Test
    void theClientTakesOnlyWhatIsSmallBefore() {
        var limit = new SizeLimit(10_000, 10_000, Map.of("compression.type", "zstd"));
        String reason = limit.refusal(record(100_000));
        assertTrue(reason.contains("max.request.size"), reason);
    }
}
