package org.ksqlspark.cluster;

import org.ksqlspark.kafka.RunReport;
import org.ksqlspark.kafka.Traffic;
import org.ksqlspark.log.ErrorCounts;
import org.ksqlspark.state.StateEntries;

import java.io.Serializable;
import java.util.Map;

/**
 * What an executor tells the driver.
 *
 * @param executor its id
 * @param runs how its tasks read
 * @param errors by processing log and query: errors of single records since the report before
 * @param traffic by server and query: what its tasks have read and written since then
 * @param entries by query and store: how many entries those stores have that have changed
 * @param cached bytes in its caches of state
 */
record ExecutorReport(
        String executor,
        RunReport runs,
        Map<String, Map<String, ErrorCounts>> errors,
        Map<String, Traffic.Figures> traffic,
        Map<StateEntries.Query, Map<StateEntries.Store, StateEntries.Count>> entries,
        long cached)
        implements Serializable {}
