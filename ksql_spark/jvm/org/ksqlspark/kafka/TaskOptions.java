package org.ksqlspark.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import java.io.Serializable;

/**
 * How the tasks of a query read.
 *
 * @param run id of the query's run
 * @param tasks how many there are
 * @param partitions how many partitions each topic has, where rows that meet are in partitions of
 *     equal numbers; 0: it does not matter
 * @param isOneOrder whether a task takes the records of all its partitions by time; else only those
 *     of equal number, one for each topic
 * @param isLeftFirst whether of records of equal times those of the first input are taken first;
 *     else those of the last
 * @param isFirst whether the records of the topic are taken before those of others, whatever their
 *     times
 * @param maxIdleMs how long to wait for a partition that has no more records while another one has;
 *     0: only for records that the broker is known to have; negative: not even for these
 * @param feeds the internal topic that the query writes; empty: none
 * @param waitsFor the internal topic that it must not run ahead of; empty: none
 * @param batchMs how long a batch in real time lasts; 0: as long as Spark says
 * @param log the processing log that is told of lost records, whose name {@link Traffic} has, too;
 *     empty: none
 * @param query the query's id there
 * @param failsOnLoss whether the query fails where records are gone before it has read them
 * @param archive the folder with the records that the topic has no more; empty: none
 * @param archived name and id of the topic that the archive must be of
 * @param isArchiveFirst whether all that the archive has is read there, since the topic is
 *     compacted
 * @param asOfMs the latest timestamp of records that are read, ms
 * @param pattern what names of topics that are read match; empty: one topic is read
 * @param never what these names do not match
 * @param until the offsets at which micro-batches end for good, as Spark's source writes offsets:
 *     nothing is read of partitions that they do not name; empty: they do not end
 */
public record TaskOptions(
        String run,
        int tasks,
        int partitions,
        boolean isOneOrder,
        boolean isLeftFirst,
        boolean isFirst,
        long maxIdleMs,
        String feeds,
        String waitsFor,
        long batchMs,
        String log,
        String query,
        boolean failsOnLoss,
        String archive,
        String archived,
        boolean isArchiveFirst,
        long asOfMs,
        String pattern,
        String never,
        String until)
        implements Serializable {
    /** What is found in the error of a query that fails (query_errors.py). */
    static final String PARTITIONS_CHANGED = "KSQL_PARTITIONS_CHANGED";

    static TaskOptions of(CaseInsensitiveStringMap options) {
        return new TaskOptions(
                options.get("ksql.run"),
                options.getInt("ksql.tasks", 1),
                options.getInt("ksql.partitions", 0),
                options.getBoolean("ksql.one.order", false),
                options.getBoolean("ksql.left.first", false),
                options.getBoolean("ksql.first", false),
                options.getLong("ksql.max.task.idle.ms", 0),
                options.getOrDefault("ksql.feeds", ""),
                options.getOrDefault("ksql.waits.for", ""),
                options.getLong("ksql.batch.ms", 0),
                options.getOrDefault("ksql.log", ""),
                options.getOrDefault("ksql.query", ""),
                options.getBoolean("ksql.fails.on.loss", false),
                options.getOrDefault("ksql.archive", ""),
                options.getOrDefault("ksql.archive.topic", ""),
                options.getBoolean("ksql.archive.first", false),
                options.getLong("ksql.as.of.ms", Long.MAX_VALUE),
                options.getOrDefault("subscribePattern", ""),
                options.getOrDefault("ksql.never", ""),
                options.getOrDefault("ksql.until", ""));
    }

    /**
     * Fails where a topic has got a further partition: keys have moved to it, without their state.
     */
    void check(TopicPartition at) {
        if (partitions > 0 && at.partition() >= partitions) {
            throw new IllegalStateException(
                    "["
                            + PARTITIONS_CHANGED
                            + "] Topic "
                            + at.topic()
                            + " has got more partitions than the "
                            + partitions
                            + " by which this query was planned.");
        }
    }
}
