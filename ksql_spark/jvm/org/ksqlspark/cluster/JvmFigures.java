package org.ksqlspark.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.Map;

/** Figures about this JVM. */
public final class JvmFigures {
    private static final ObjectMapper JSON = new ObjectMapper();

    private JvmFigures() {}

    /** As JSON: name to number, in bytes and seconds. */
    public static String report() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        long collections = 0;
        long collecting = 0;
        for (GarbageCollectorMXBean one : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += Math.max(one.getCollectionCount(), 0);
            collecting += Math.max(one.getCollectionTime(), 0);
        }
        OperatingSystemMXBean process =
                ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        Map<String, Number> found =
                Map.of(
                        "heap_bytes", memory.getHeapMemoryUsage().getUsed(),
                        "heap_max_bytes", memory.getHeapMemoryUsage().getMax(),
                        "other_bytes", memory.getNonHeapMemoryUsage().getUsed(),
                        "gc", collections,
                        "gc_seconds", collecting / 1e3,
                        "threads", ManagementFactory.getThreadMXBean().getThreadCount(),
                        "cpu_seconds", process.getProcessCpuTime() / 1e9);
        try {
            return JSON.writeValueAsString(found);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
