package org.ksqlspark.memory;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.util.ConfigUtil;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Hadoop's defaults for YARN and MapReduce, two thirds of all its settings, which no query reads.
 *
 * <p>Spark copies its settings of Hadoop five times for each query, and sends them to each task
 * with a broadcast variable of each batch.
 */
public final class HadoopDefaults {
    private static final Set<String> FILES = Set.of("yarn-default.xml", "mapred-default.xml");

    private HadoopDefaults() {}

    /** Takes them out of the settings that others are copied from; those that somebody set stay. */
    public static void forget(Configuration settings) {
        // what adds files with defaults later lets all settings be read again: file systems do
        ConfigUtil.loadResources();
        try {
            FileSystem.getFileSystemClass("file", settings);
        } catch (IOException e) {
            return; // and who needs it says why
        }
        Set<String> names = new HashSet<>();
        for (Map.Entry<String, String> setting : settings) {
            if (isDefault(settings.getPropertySources(setting.getKey()))) {
                names.add(setting.getKey());
            }
        }
        names.forEach(settings::unset);
        forgetSources(settings, names);
    }

    private static boolean isDefault(String[] sources) {
        return sources != null && sources.length > 0 && FILES.contains(sources[sources.length - 1]);
    }

    /** Where each setting came from is kept by its name, too, and copied with it. */
    private static void forgetSources(Configuration settings, Set<String> names) {
        try {
            Field field = Configuration.class.getDeclaredField("updatingResource");
            field.setAccessible(true);
            ((Map<?, ?>) field.get(settings)).keySet().removeAll(names);
        } catch (ReflectiveOperationException | ClassCastException e) {
            // another Hadoop: it only takes more memory
        }
    }
}
