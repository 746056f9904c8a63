package org.ksqlspark.memory;

import org.apache.spark.SparkEnv;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.ThreadPoolExecutor;

/**
 * The threads that remove broadcast variables of batches that have ended.
 *
 * <p>Spark starts one for each removal until there are 100 in each of two pools, and with many
 * queries none of them ever waits long enough to end. Each keeps some 90 KB of its stack. They have
 * little to do: a few take turns.
 */
public final class BlockManagerThreads {
    private static final int MAX_THREADS = 8;

    /** Classes of endpoints, and the field with the pool of each. */
    private static final Map<String, String> POOLS =
            Map.of(
                    "BlockManagerMasterEndpoint", "askThreadPool",
                    "BlockManagerStorageEndpoint", "asyncThreadPool");

    private BlockManagerThreads() {}

    /**
     * Limits the pools of this JVM.
     *
     * @return how many pools were limited; 0 where Spark has others
     */
    public static int limit() {
        int limited = 0;
        try {
            Object dispatcher = field(SparkEnv.get().rpcEnv(), "dispatcher");
            for (Object endpoint : ((Map<?, ?>) field(dispatcher, "endpointRefs")).keySet()) {
                String pool = POOLS.get(endpoint.getClass().getSimpleName());
                if (pool != null) {
                    ((ThreadPoolExecutor) field(endpoint, pool)).setCorePoolSize(MAX_THREADS);
                    limited++;
                }
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            // another Spark, or a JVM that does not let us in: it only takes more memory
        }
        return limited;
    }

    private static Object field(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
