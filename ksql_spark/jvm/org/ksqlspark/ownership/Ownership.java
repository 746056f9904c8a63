package org.ksqlspark.ownership;

/**
 * Until when this server's queries may write.
 *
 * <p>With several servers, others run its queries once Kafka takes it for dead. That may happen
 * while it is only frozen, or cut off from Kafka's coordinator. So whoever writes asks here before.
 * The server moves the end of its time after each confirmation of Kafka. Executors in JVMs of their
 * own learn it with each answer of the driver.
 */
public final class Ownership {
    private static final long FOREVER = Long.MAX_VALUE;
    private static volatile long until = FOREVER;

    private Ownership() {}

    /** Now, on the clock of {@link #confirm}: nanoseconds. */
    public static long now() {
        return System.nanoTime();
    }

    /** Nobody else runs the server's queries until {@code seconds} after {@code stamp}. */
    public static void confirm(long stamp, double seconds) {
        until = stamp + (long) (seconds * 1e9);
    }

    /** The server's queries may write without an end: it is the only one. */
    public static void release() {
        until = FOREVER;
    }

    /** For how long the server's queries may still write: nanoseconds. Negative: no longer. */
    public static long left() {
        long end = until;
        return end == FOREVER ? FOREVER : end - System.nanoTime();
    }

    /**
     * Does as another JVM has said.
     *
     * @param stamp when it was asked, on the clock of this JVM
     * @param left its answer to {@link #left}
     */
    public static void follow(long stamp, long left) {
        until = left == FOREVER ? FOREVER : stamp + left;
    }

    /**
     * Checks that nobody else can run this server's queries.
     *
     * @throws IllegalStateException others may run them
     */
    public static void check() {
        long end = until;
        if (end != FOREVER && System.nanoTime() - end > 0) {
            throw new IllegalStateException(
                    "Kafka has not confirmed in time that the query belongs to this server, so"
                            + " another one may run it now");
        }
    }
}
