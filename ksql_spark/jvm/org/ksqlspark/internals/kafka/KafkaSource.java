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
     * @param start where the stream is
     * @param latest how far it could go
     * @param most how far it may go; of a partition that it does not name nothing may be read
     */
    public static Offset atMost(Offset start, Offset latest, Offset most) {
        Map<TopicPartition, Object> limits = new HashMap<>(offsets(start));
        limits.putAll(offsets(most));
        Map<TopicPartition, Object> capped = new HashMap<>(offsets(latest));
        capped.keySet().retainAll(limits.keySet());
        capped.replaceAll((at, next) -> Math.min((long) next, (long) limits.get(at)));
        return new KafkaSourceOffset(
                scala.collection.immutable.Map.from(CollectionConverters.asScala(capped)));
    }

    private static Map<TopicPartition, Object> offsets(Offset of) {
        return CollectionConverters.asJava(((KafkaSourceOffset) of).partitionToOffsets());
    }

    /** The partitions that an offset of a stream is about; none for one of another source. */
    public static Set<TopicPartition> partitions(Offset offset) {
        return offset instanceof KafkaSourceOffset known
                ? CollectionConverters.asJava(known.partitionToOffsets()).keySet()
                : Set.of();
    }
}
