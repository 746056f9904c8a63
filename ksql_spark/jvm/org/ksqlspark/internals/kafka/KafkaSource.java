package org.ksqlspark.internals.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;

import scala.jdk.javaapi.CollectionConverters;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Spark's Kafka source and its offsets. */
public final class KafkaSource {
    private KafkaSource() {}

    /** The source. */
    public static TableProvider provider() {
        return new KafkaSourceProvider();
    }

    /** How far a partition was read. */
    public static PartitionOffset offset(TopicPartition partition, long next) {
        return new KafkaSourcePartitionOffset(partition, next);
    }

    /**
     * An offset of a stream that is nowhere beyond another one.
     *
     * @param offset how far the stream could go
     * @param most how far it may go; partitions that it does not name have no limit
     */
    public static Offset atMost(Offset offset, Offset most) {
        if (!(offset instanceof KafkaSourceOffset known)
                || !(most instanceof KafkaSourceOffset limits)) {
            return offset;
        }
        Map<TopicPartition, Object> capped =
                new HashMap<>(CollectionConverters.asJava(known.partitionToOffsets()));
        CollectionConverters.asJava(limits.partitionToOffsets())
                .forEach(
                        (at, limit) ->
                                capped.computeIfPresent(
                                        at, (same, next) -> Math.min((long) next, (long) limit)));
        return new KafkaSourceOffset(
                scala.collection.immutable.Map.from(CollectionConverters.asScala(capped)));
    }

    /** The partitions that an offset of a stream is about; none for one of another source. */
    public static Set<TopicPartition> partitions(Offset offset) {
        return offset instanceof KafkaSourceOffset known
                ? CollectionConverters.asJava(known.partitionToOffsets()).keySet()
                : Set.of();
    }
}
