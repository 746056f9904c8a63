package org.ksqlspark.log;

import java.util.function.BiFunction;

/** How much a logger may still write in this second, and how many entries it has dropped. */
final class Allowance {
    /** Most entries per second of one logger. */
    static final int MAX_PER_SECOND = 1000;

    private final int most;

    /** Makes the entry of a logger that states how many entries were dropped. */
    private final BiFunction<String, Long, String> told;

    private long second;
    private int left;
    private long leftOut;

    Allowance() {
        this(MAX_PER_SECOND, LogEntry::leftOut);
    }

    Allowance(int most, BiFunction<String, Long, String> told) {
        this.most = most;
        this.told = told;
    }

    /** Whether one more entry may be written in this second (since 1970). */
    synchronized boolean take(long now) {
        if (second != now) {
            second = now;
            left = most;
        }
        if (left == 0) {
            leftOut++;
            return false;
        }
        left--;
        return true;
    }

    /** An entry that was allowed did not fit into the queue. */
    synchronized void leaveOut() {
        leftOut++;
    }

    /** The entry of a logger that states how many were dropped. */
    String told(String logger, long count) {
        return told.apply(logger, count);
    }

    /**
     * How many entries were dropped in a second that is over; each is reported only once.
     *
     * @param now the current second; isClosing: it counts as over
     */
    synchronized long report(long now, boolean isClosing) {
        if (second == now && !isClosing) {
            return 0;
        }
        long count = leftOut;
        leftOut = 0;
        return count;
    }
}
