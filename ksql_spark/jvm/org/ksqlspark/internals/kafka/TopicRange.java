package org.ksqlspark.internals.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;

import java.io.Serializable;
import java.util.Map;

/**
 * What Spark's Kafka source plans to read of a partition.
 *
 * @param from the first offset
 * @param until the offset after the last one, as Spark gives it
 * @param settings of consumers in tasks
 */
public record TopicRange(
        TopicPartition partition, long from, long until, Map<String, Object> settings)
        implements Serializable {
    /** The range of one of the source's partitions. */
    public static TopicRange of(InputPartition planned) {
        KafkaBatchInputPartition one = (KafkaBatchInputPartition) planned;
        KafkaOffsetRange range = one.offsetRange();
        return new TopicRange(
                range.topicPartition(),
                range.fromOffset(),
                range.untilOffset(),
                one.executorKafkaParams());
    }
}
