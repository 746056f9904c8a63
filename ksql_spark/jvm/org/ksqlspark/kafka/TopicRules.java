package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import java.io.Serializable;

/**
 * Which records the brokers would refuse for what they are, from the configuration of their topic.
 *
 * <p>They would refuse the records around it, too, which had to be written again in another order.
 *
 * @param maxAheadMs how far the time of a record may be ahead of the clock
 * @param maxBehindMs how far it may be behind it
 * @param needsKey whether the topic is compacted
 * @param failsOnRefusal whether such a record stops its query; else it is left out
 */
record TopicRules(long maxAheadMs, long maxBehindMs, boolean needsKey, boolean failsOnRefusal)
        implements Serializable {
    static TopicRules of(CaseInsensitiveStringMap options) {
        return new TopicRules(
                options.getLong("ksql.max.ahead.ms", Long.MAX_VALUE),
                options.getLong("ksql.max.behind.ms", Long.MAX_VALUE),
                options.getBoolean("ksql.needs.key", false),
                options.getBoolean("ksql.fails.on.refusal", false));
    }

    /** Why the brokers would refuse a record at this moment; null: they would not. */
    String refusal(ProducerRecord<byte[], byte[]> record, long nowMs) {
        Long at = record.timestamp();
        // compared so that nothing overflows: both are positive
        if (at != null && at - nowMs > maxAheadMs) {
            return "Its time, "
                    + at
                    + " ms, is more than "
                    + maxAheadMs
                    + " ms ahead (message.timestamp.after.max.ms).";
        }
        if (at != null && nowMs - at > maxBehindMs) {
            return "Its time, "
                    + at
                    + " ms, is more than "
                    + maxBehindMs
                    + " ms ago (message.timestamp.before.max.ms).";
        }
        return needsKey && record.key() == null
                ? "It has no key, and the topic is compacted (cleanup.policy)."
                : null;
    }
}
