package org.ksqlspark.cluster;

import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.ksqlspark.kafka.RemoteRuns;
import org.ksqlspark.kafka.Traffic;
import org.ksqlspark.log.ErrorCounts;
import org.ksqlspark.log.ProcessingLog;
import org.ksqlspark.ownership.Ownership;
import org.ksqlspark.state.CacheBudget;
import org.ksqlspark.state.StateEntries;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/** An executor's side: reports to the driver many times a second, and does as it is told. */
final class Executor implements ExecutorPlugin {
    /** How often an executor reports, ms: for so long a batch may go on after its end. */
    private static final long EVERY_MS = 50;

    /** How long it waits after a report that had no answer, ms. */
    private static final long RETRY_MS = 500;

    /** The id of the executor that is the driver, in local mode. */
    private static final String DRIVER = "driver";

    private static final Logger LOG = LoggerFactory.getLogger(Executor.class);

    private volatile boolean isClosing;
    private Thread thread;

    @Override
    public void init(PluginContext context, Map<String, String> settings) {
        if (context.executorID().equals(DRIVER)) {
            return;
        }
        RemoteRuns.follow();
        report(context); // before the first record, so that its errors can be logged
        thread = new Thread(() -> run(context), "report-to-driver");
        thread.setDaemon(true);
        thread.setContextClassLoader(Executor.class.getClassLoader());
        thread.start();
    }

    @Override
    public void shutdown() {
        isClosing = true;
        if (thread != null) {
            thread.interrupt();
        }
    }

    private void run(PluginContext context) {
        while (!isClosing) {
            try {
                Thread.sleep(report(context) ? EVERY_MS : RETRY_MS);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    /** Whether the driver has answered. */
    private boolean report(PluginContext context) {
        Map<String, Map<String, ErrorCounts>> errors = ProcessingLog.takeCounts();
        Map<String, Traffic.Figures> traffic = Traffic.take();
        Map<StateEntries.Query, Map<StateEntries.Store, StateEntries.Count>> entries =
                StateEntries.take();
        try {
            ExecutorReport report =
                    new ExecutorReport(
                            context.executorID(),
                            RemoteRuns.report(),
                            errors,
                            traffic,
                            entries,
                            CacheBudget.shared().used());
            long asked = Ownership.now();
            byte[] answer = (byte[]) context.ask(Message.write(report));
            DriverReply reply = (DriverReply) Message.read(answer);
            RemoteRuns.follow(reply.runs());
            ProcessingLog.follow(reply.logs());
            CacheBudget.shared().bound(reply.cacheBound());
            Ownership.follow(asked, reply.left());
            return true;
        } catch (Exception failure) {
            errors.forEach(ProcessingLog::count); // they belong into the next report
            Traffic.add(traffic);
            StateEntries.add(entries);
            if (!isClosing) {
                LOG.warn("the driver did not answer: {}", failure.toString());
            }
            return false;
        }
    }
}
