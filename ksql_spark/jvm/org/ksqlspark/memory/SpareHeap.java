package org.ksqlspark.memory;

import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import com.sun.management.HotSpotDiagnosticMXBean;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.time.Duration;
import java.util.Map;

/**
 * The part of the heap that nothing needs, given back to the operating system.
 *
 * <p>G1 finds what is not needed when it marks the heap, frees most of that in the collections of
 * new objects that follow, and decides how much of the heap to keep when it marks it again. A
 * program with little to do makes such collections minutes apart.
 *
 * <p>That G1 keeps little is asked for here only, not while there is work: it begins to mark as
 * soon as less than half of the heap is free, so it would do so all the time.
 */
public final class SpareHeap {
    /** The most of the heap that is kept free when memory is given back, percent. */
    private static final String LITTLE = "15";

    private static final String MAX_FREE = "MaxHeapFreeRatio";

    /** As many collections as G1 takes to free what a marking found, and some. */
    private static final int MAX_COLLECTIONS = 12;

    /** Between two collections, so that they do not stand for one long pause. */
    private static final Duration BETWEEN = Duration.ofMillis(100);

    private static final int PIECE_BYTES = 64 << 10;

    /** New objects that are not followed by a collection would stand for a heap without limit. */
    private static final int MAX_PIECES = (512 << 20) / PIECE_BYTES;

    private static final String COLLECTOR = "G1 Young Generation";

    /** Makes sure that the pieces are allocated. */
    @SuppressWarnings("unused")
    private static volatile byte[] lastPiece;

    private SpareHeap() {}

    /**
     * Gives nearly all of the heap that is not needed back, while the program goes on. Returns when
     * it has, after some seconds.
     */
    public static synchronized void giveBack() throws InterruptedException {
        HotSpotDiagnosticMXBean machine =
                ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        String most = machine.getVMOption(MAX_FREE).getValue();
        System.gc();
        collectWhatIsMarked();
        machine.setVMOption(MAX_FREE, LITTLE);
        try {
            System.gc();
        } finally {
            machine.setVMOption(MAX_FREE, most);
            lastPiece = null;
        }
    }

    /**
     * How the heap is used.
     *
     * @return how many collections there were, the bytes that the heap has taken from the operating
     *     system, and those that the last collection left: no bytes before the first one
     */
    public static long[] use() {
        GarbageCollectorMXBean collector = collector();
        GcInfo last = collector.getLastGcInfo();
        long left = 0;
        if (last != null) {
            Map<String, MemoryUsage> after = last.getMemoryUsageAfterGc();
            for (String pool : collector.getMemoryPoolNames()) {
                left += after.get(pool).getUsed();
            }
        }
        long taken = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted();
        return new long[] {collector.getCollectionCount(), taken, left};
    }

    private static void collectWhatIsMarked() throws InterruptedException {
        GarbageCollectorMXBean collector = collector();
        int left = MAX_COLLECTIONS;
        while (left-- > 0 && collect(collector)) {
            Thread.sleep(BETWEEN.toMillis());
        }
    }

    /** Allocates until there was a collection. Returns whether there was. */
    private static boolean collect(GarbageCollectorMXBean collector) {
        long before = collector.getCollectionCount();
        for (int piece = 0; piece < MAX_PIECES; piece++) {
            if (collector.getCollectionCount() != before) {
                return true;
            }
            lastPiece = new byte[PIECE_BYTES];
        }
        return false;
    }

    private static GarbageCollectorMXBean collector() {
        return ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class).stream()
                .filter(collector -> collector.getName().equals(COLLECTOR))
                .findFirst()
                .orElseThrow();
    }
}
