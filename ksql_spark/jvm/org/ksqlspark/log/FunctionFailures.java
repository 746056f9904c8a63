package org.ksqlspark.log;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Rows for which a user function failed. */
public final class FunctionFailures {
    private static final Logger LOG = LoggerFactory.getLogger(FunctionFailures.class);

    /** How many failures are logged per second, over all functions. */
    private static final int LOGGED_A_SECOND = 20;

    private static long second;
    private static int logged;

    private FunctionFailures() {}

    /** Writes one to Spark's log. */
    public static synchronized void note(String function, String error) {
        long now = System.currentTimeMillis() / 1000;
        if (now != second) {
            second = now;
            logged = 0;
        }
        if (logged++ < LOGGED_A_SECOND) {
            LOG.warn("the function {} failed for a row: {}", function, error);
        }
    }

    /**
     * Writes one to Spark's log and to a processing log.
     *
     * @param log the processing log's name; empty: there is none
     */
    public static void report(String log, String query, String function, String error) {
        note(function, error);
        if (!log.isEmpty()) {
            ProcessingLog.of(log).failed(query, "Function", function + " failed.", error, null);
        }
    }
}
