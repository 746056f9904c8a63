package org.ksqlspark.cluster;

import org.apache.spark.api.plugin.DriverPlugin;
import org.ksqlspark.kafka.RemoteRuns;
import org.ksqlspark.kafka.Traffic;
import org.ksqlspark.log.ProcessingLog;
import org.ksqlspark.ownership.Ownership;
import org.ksqlspark.state.CacheBudget;
import org.ksqlspark.state.StateEntries;

/** The driver's side: takes executors' reports, and answers each. */
final class Driver implements DriverPlugin {
    @Override
    public Object receive(Object message) {
        ExecutorReport report = (ExecutorReport) Message.read((byte[]) message);
        report.errors().forEach(ProcessingLog::count);
        Traffic.add(report.traffic());
        StateEntries.add(report.entries());
        CacheBudget budget = CacheBudget.shared();
        budget.usedBy(report.executor(), report.cached(), System.currentTimeMillis());
        return Message.write(
                new DriverReply(
                        RemoteRuns.orders(report.runs()),
                        ProcessingLog.targets(),
                        budget.bound(),
                        Ownership.left()));
    }
}
