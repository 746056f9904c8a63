package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerRecord;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Records of a query that brokers have refused by a validation that we cannot know beforehand.
 *
 * <p>The brokers refuse those around it with it. So its run fails, and the next one, which writes
 * them again in their order, leaves it out.
 */
final class Refusals {
    /** The latest ones are kept: a query that has got further does not write earlier ones again. */
    private static final int MAX_REFUSED = 1000;

    private static final Map<String, Refusals> QUERIES = new ConcurrentHashMap<>();

    private record Refused(String topic, Long time, ByteBuffer key, ByteBuffer value) {
        static Refused of(ProducerRecord<byte[], byte[]> record) {
            return new Refused(
                    record.topic(), record.timestamp(), bytes(record.key()), bytes(record.value()));
        }

        private static ByteBuffer bytes(byte[] bytes) {
            return bytes == null ? null : ByteBuffer.wrap(bytes);
        }
    }

    private final Map<Refused, String> reasons =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Refused, String> eldest) {
                    return size() > MAX_REFUSED;
                }
            };

    private volatile boolean isEmpty = true;

    /** Those of a query of a server. */
    static Refusals of(String server, String query) {
        return QUERIES.computeIfAbsent(server + "/" + query, name -> new Refusals());
    }

    /** Forgets a query that is no more. */
    static void forget(String server, String query) {
        QUERIES.remove(server + "/" + query);
    }

    synchronized void add(ProducerRecord<byte[], byte[]> record, String reason) {
        reasons.put(Refused.of(record), String.valueOf(reason));
        isEmpty = false;
    }

    /** Why a record was refused; null: it was not. */
    String reason(ProducerRecord<byte[], byte[]> record) {
        if (isEmpty) {
            return null;
        }
        synchronized (this) {
            return reasons.get(Refused.of(record));
        }
    }
}
