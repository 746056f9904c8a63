package org.ksqlspark.cluster;

import org.apache.hadoop.conf.Configuration;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Hadoop's defaults for YARN and MapReduce, two thirds of all its settings, which no query reads.
 *
 * <p>Spark copies its settings of Hadoop five times for each query, and sends them to each task
 * with a broadcast variable of each batch.
 */
public final class HadoopDefaults {
    private static final List<String> UNUSED = List.of("yarn.", "mapreduce.");

    private HadoopDefaults() {}

    /** Takes them out of the settings that others are copied from. */
    public static void forget(Configuration settings) {
        List<String> names = new ArrayList<>();
        for (Map.Entry<String, String> setting : settings) {
            if (isUnused(setting.getKey())) {
                names.add(setting.getKey());
            }
        }
        names.forEach(settings::unset);
        forgetSources(settings);
    }

    private static boolean isUnused(String name) {
        return UNUSED.stream().anyMatch(name::startsWith);
    }

    /** Where each setting came from is kept by its name, too, and copied with it. */
    private static void forgetSources(Configuration settings) {
        try {
            Field field = Configuration.class.getDeclaredField("updatingResource");
            field.setAccessible(true);
            ((Map<?, ?>) field.get(settings)).keySet().removeIf(name -> isUnused((String) name));
        } catch (ReflectiveOperationException | ClassCastException e) {
            // another Hadoop: it only takes more memory
        }
    }
}
