package org.ksqlspark.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

class SpareHeapTest {
    private static final int MB = 1 << 20;
    private static final HotSpotDiagnosticMXBean MACHINE =
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);

    private static String option(String name) {
        return MACHINE.getVMOption(name).getValue();
    }

    @BeforeAll
    static void aHeapThatIsNotNeeded() {
        List<byte[]> load = new ArrayList<>();
        for (int piece = 0; piece < 200 * 16; piece++) {
            load.add(new byte[MB / 16]);
        }
        assertEquals(200 * 16, load.size());
    }

    @Test
    void givesBackAndKeepsMoreAgainAfterwards() throws InterruptedException {
        String most = option("MaxHeapFreeRatio");
        long taken = SpareHeap.use()[1];
        assertTrue(taken > 200L * MB, "has taken " + taken);
        SpareHeap.giveBack();
        assertTrue(SpareHeap.use()[1] < taken / 2, "has " + SpareHeap.use()[1] + " of " + taken);
        assertEquals(most, option("MaxHeapFreeRatio"));
    }

    @Test
    void countsCollectionsAndWhatTheyLeave() throws InterruptedException {
        long[] before = SpareHeap.use();
        SpareHeap.giveBack();
        long[] after = SpareHeap.use();
        assertTrue(after[0] >= before[0] + 2, before[0] + " and " + after[0]);
        assertTrue(after[2] > 0 && after[2] <= after[1], after[2] + " of " + after[1]);
    }
}
