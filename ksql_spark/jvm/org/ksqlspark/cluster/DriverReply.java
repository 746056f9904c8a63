package org.ksqlspark.cluster;

import org.ksqlspark.kafka.RunOrders;
import org.ksqlspark.log.LogTarget;

import java.io.Serializable;
import java.util.Map;

/**
 * What the driver answers to an executor's report.
 *
 * @param runs what its tasks have to know of runs
 * @param logs by name, where entries of processing logs go
 * @param cacheBound most bytes in its caches of state
 * @param left for how long its tasks may write, as {@link org.ksqlspark.ownership.Ownership#left}
 */
record DriverReply(RunOrders runs, Map<String, LogTarget> logs, long cacheBound, long left)
        implements Serializable {}
