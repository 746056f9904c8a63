package org.ksqlspark.kafka;

import org.ksqlspark.state.KeptCaches;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Runs whose tasks are in other JVMs than the driver's, where their ends are decided. An executor
 * reports what its tasks do and follows the driver's orders.
 */
public final class RemoteRuns {
    /** A run that the driver has never named is forgotten after so long, ms. */
    private static final long UNKNOWN_MS = 60_000;

    private static volatile boolean follows;

    /** By name, when an executor's run was last named by the driver, or first seen here. */
    private static final Map<String, Long> SEEN = new HashMap<>();

    private static final Set<String> NAMED = new HashSet<>();

    private RemoteRuns() {}

    /** From now on this JVM is an executor's. */
    public static void follow() {
        follows = true;
    }

    /** Whether the driver is in another JVM. */
    static boolean follows() {
        return follows;
    }

    /** An executor's report. */
    public static RunReport report() {
        return new RunReport(QueryRun.takeRecords(), Frontier.report(System.currentTimeMillis()));
    }

    /** The driver's answer to it. */
    public static RunOrders orders(RunReport report) {
        long now = System.currentTimeMillis();
        report.progress().forEach(Frontier::note);
        return new RunOrders(QueryRun.orders(now, report.records()), Frontier.all());
    }

    /** An executor does as it is told; runs that have ended are released. */
    public static synchronized void follow(RunOrders orders) {
        long now = System.currentTimeMillis();
        Frontier.follow(orders.reached());
        orders.runs().forEach(QueryRun::follow);
        Set<String> own = new HashSet<>(QueryRun.names());
        own.addAll(QueryProducer.names());
        own.addAll(KeptCaches.runs());
        for (String run : own) {
            if (orders.runs().containsKey(run)) {
                NAMED.add(run);
            } else if (NAMED.contains(run)
                    || now - SEEN.computeIfAbsent(run, r -> now) >= UNKNOWN_MS) {
                DrainableSource.release(run, "");
            }
        }
        SEEN.keySet().retainAll(own);
        NAMED.retainAll(own);
    }
}
