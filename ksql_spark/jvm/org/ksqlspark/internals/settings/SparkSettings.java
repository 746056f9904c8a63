package org.ksqlspark.internals.settings;

import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.Deploy$;
import org.apache.spark.internal.config.History$;
import org.apache.spark.internal.config.Kryo$;
import org.apache.spark.internal.config.Network$;
import org.apache.spark.internal.config.Python$;
import org.apache.spark.internal.config.Status$;
import org.apache.spark.internal.config.UI$;
import org.apache.spark.internal.config.Worker$;
import org.apache.spark.sql.execution.streaming.state.RocksDBConf;
import org.apache.spark.sql.execution.streaming.state.RocksDBConf$;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.internal.StaticSQLConf$;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The settings that Spark defines. Spark reads most of them only when it needs them, so a wrong
 * value would fail each query, again and again.
 */
public final class SparkSettings {
    /** The objects that register them when they are created. */
    private static final List<Object> OWNERS =
            List.of(
                    org.apache.spark.internal.config.package$.MODULE$,
                    Deploy$.MODULE$,
                    History$.MODULE$,
                    Kryo$.MODULE$,
                    Network$.MODULE$,
                    Python$.MODULE$,
                    Status$.MODULE$,
                    UI$.MODULE$,
                    Worker$.MODULE$,
                    SQLConf$.MODULE$,
                    StaticSQLConf$.MODULE$,
                    org.apache.spark.deploy.k8s.Config$.MODULE$,
                    org.apache.spark.deploy.yarn.config.package$.MODULE$);

    private static final Pattern SENTENCE =
            Pattern.compile("(?:.* is invalid\\. )?(.*?)\\.?(?: SQLSTATE: \\w+)?", Pattern.DOTALL);

    private SparkSettings() {}

    /** Returns the names of all settings, one on each line. */
    public static String names() {
        return OWNERS.isEmpty()
                ? ""
                : ConfigEntry.listAllEntries().stream()
                        .map(ConfigEntry::key)
                        .collect(Collectors.joining("\n"));
    }

    /**
     * Returns, by its name, what is wrong with each of {@code settings} whose value Spark does not
     * accept: a clause without a period.
     */
    public static Map<String, String> problems(Map<String, String> settings) {
        SparkConf conf = new SparkConf(false);
        settings.forEach(conf::set);
        Map<String, String> problems = new TreeMap<>();
        for (String name : settings.keySet()) {
            ConfigEntry<?> entry = OWNERS.isEmpty() ? null : ConfigEntry.findEntry(name);
            try {
                if (entry != null) {
                    conf.get(entry);
                } else if (name.startsWith(RocksDBConf.ROCKSDB_SQL_CONF_NAME_PREFIX())) {
                    readOfRocksDb(name, settings.get(name));
                }
            } catch (IllegalArgumentException error) {
                problems.put(name, reason(error));
            }
        }
        return problems;
    }

    private static void readOfRocksDb(String name, String value) {
        SQLConf conf = new SQLConf();
        conf.setConfString(name, value);
        RocksDBConf$.MODULE$.apply(StateStoreConf.apply(conf));
    }

    /** What Spark says of a value, without the name and the value. */
    private static String reason(IllegalArgumentException error) {
        Matcher sentence = SENTENCE.matcher(String.valueOf(error.getMessage()));
        String reason = sentence.matches() ? sentence.group(1) : error.getMessage();
        return reason.startsWith("It ") ? "it " + reason.substring(3) : reason;
    }
}
