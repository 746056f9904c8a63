package org.ksqlspark.log;

/** How much a logger may still write in this second, and how many entries it has dropped. */
final class Allowance {
    /** Most entries per second of one logger. */
    static final int MAX_PER_SECOND = 1000;

    private long second;
    private int left;
    private long leftOut;

    /** Whether one more entry may be written in this second (since 1970). */
    synchronized boolean take(long now) {
        if (second != now) {
            second = now;
            left = MAX_PER_SECOND;
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
