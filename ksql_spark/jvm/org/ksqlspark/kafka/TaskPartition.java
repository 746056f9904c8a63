package org.ksqlspark.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.ksqlspark.internals.kafka.TopicRange;

import java.util.ArrayList;
import java.util.List;

/**
 * What one task reads of a topic: partition p belongs to task p % tasks.
 *
 * @param index the task's number
 * @param options the source's
 * @param ranges offsets of each of its partitions
 */
public record TaskPartition(int index, TaskOptions options, List<TopicRange> ranges)
        implements InputPartition {
    /** All that was planned, as one for each task, in the order of their numbers. */
    static InputPartition[] regroup(InputPartition[] planned, TaskOptions options) {
        TaskPartition[] tasks = new TaskPartition[options.tasks()];
        for (int i = 0; i < tasks.length; i++) {
            tasks[i] = new TaskPartition(i, options, new ArrayList<>());
        }
        for (InputPartition one : planned) {
            TopicRange range = TopicRange.of(one);
            TopicPartition at = range.partition();
            options.check(at);
            tasks[at.partition() % tasks.length].ranges.add(range);
        }
        return tasks;
    }
}
