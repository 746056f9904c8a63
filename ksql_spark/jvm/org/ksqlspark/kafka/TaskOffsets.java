package org.ksqlspark.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.ksqlspark.internals.kafka.KafkaSource;

import java.util.ArrayList;
import java.util.List;

/**
 * How far a task has read its partitions of one topic.
 *
 * @param next the offset of the record to read next, for each partition
 */
public record TaskOffsets(TopicPartition[] partitions, long[] next) implements PartitionOffset {
    /** Offsets of all tasks as Spark's Kafka source knows them: one for each partition. */
    static PartitionOffset[] flat(PartitionOffset[] tasks) {
        List<PartitionOffset> all = new ArrayList<>();
        for (PartitionOffset task : tasks) {
            TaskOffsets offsets = (TaskOffsets) task;
            for (int i = 0; i < offsets.partitions.length; i++) {
                all.add(KafkaSource.offset(offsets.partitions[i], offsets.next[i]));
            }
        }
        return all.toArray(new PartitionOffset[0]);
    }
}
