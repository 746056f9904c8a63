package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;

class CollectedRecordsTest {
    private static ProducerRecord<byte[], byte[]> record(
            Integer partition, Long time, byte[] key, byte[] value, Header... headers) {
        return new ProducerRecord<>("sink", partition, time, key, value, List.of(headers));
    }

    /** As they come to the driver. */
    private static List<ProducerRecord<byte[], byte[]>> handedOver(
            List<ProducerRecord<byte[], byte[]>> records)
            throws IOException, ClassNotFoundException {
        var collector = new CollectedRecords.Collector(0);
        records.forEach(collector::send);
        var bytes = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(bytes)) {
            out.writeObject(collector.commit());
        }
        var found = new ArrayList<ProducerRecord<byte[], byte[]>>();
        try (var in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            ((CollectedRecords) in.readObject()).forEach("sink", found::add);
        }
        return found;
    }

    private static String shown(ProducerRecord<byte[], byte[]> record) {
        var text = new StringBuilder();
        text.append(record.topic()).append(record.partition()).append(record.timestamp());
        text.append(record.key() == null ? "null" : new String(record.key()));
        text.append(record.value() == null ? "null" : new String(record.value()));
        for (Header header : record.headers()) {
            text.append(header.key());
            text.append(header.value() == null ? "null" : new String(header.value()));
        }
        return text.toString();
    }

    @Test
    void recordsArriveAsTheyWere() throws Exception {
        byte[] bytes = "some bytes".getBytes();
        var records =
                List.of(
                        record(3, 1_700_000_000_000L, bytes, bytes),
                        record(null, null, null, null),
                        record(0, 0L, new byte[0], new byte[0]),
                        record(
                                null,
                                5L,
                                bytes,
                                null,
                                new RecordHeader("näme", bytes),
                                new RecordHeader("", (byte[]) null)));
        var found = handedOver(records);
        assertEquals(
                records.stream().map(CollectedRecordsTest::shown).toList(),
                found.stream().map(CollectedRecordsTest::shown).toList());
    }

    @Test
    void manyRecordsKeepTheirOrder() throws Exception {
        var records = new ArrayList<ProducerRecord<byte[], byte[]>>();
        for (long i = 0; i < 3000; i++) {
            records.add(record(null, i, null, new byte[i % 100 == 0 ? 100_000 : 100]));
        }
        var found = handedOver(records);
        assertEquals(
                records.stream().map(ProducerRecord::timestamp).toList(),
                found.stream().map(ProducerRecord::timestamp).toList());
        assertEquals(100_000, found.get(2900).value().length);
    }

    @Test
    void aTaskWithoutRecordsHasNone() throws Exception {
        assertEquals(List.of(), handedOver(List.of()));
    }

    @Test
    void tooManyBytesAreAnErrorBeforeTheyFillTheHeap() {
        var collector = new CollectedRecords.Collector(10 << 20);
        var failed =
                assertThrows(
                        IllegalStateException.class,
                        () -> {
                            for (int i = 0; i < 200; i++) {
                                collector.send(record(null, null, null, new byte[100_000]));
                            }
                        });
        assertTrue(
                failed.getMessage().contains("bigger than spark.driver.maxResultSize (10485760"),
                failed.getMessage());
    }
}
