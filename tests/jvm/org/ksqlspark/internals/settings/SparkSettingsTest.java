package org.ksqlspark.internals.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class SparkSettingsTest {
    private static String problem(String name, String value) {
        return SparkSettings.problems(Map.of(name, value)).get(name);
    }

    @Test
    void aValueOfAnotherTypeIsNamed() {
        assertEquals(
                "it should be a/an 'int' value", problem("spark.sql.shuffle.partitions", "many"));
        assertEquals("it should be a/an 'boolean' value", problem("spark.eventLog.enabled", "yes"));
        assertEquals(
                "it should be a/an 'bytes in MiB' value", problem("spark.executor.memory", "2q"));
    }

    @Test
    void aValueOutOfBoundsIsNamed() {
        assertEquals(
                "The value of spark.sql.shuffle.partitions must be positive",
                problem("spark.sql.shuffle.partitions", "0"));
        assertTrue(
                problem("spark.sql.parquet.compression.codec", "zipp")
                        .startsWith("it should be one of"));
    }

    @Test
    void soIsOneOfRocksDb() {
        String prefix = "spark.sql.streaming.stateStore.rocksdb.";
        String problem = problem(prefix + "writeBufferSizeMB", "much");
        assertTrue(problem.contains("must be"), problem);
        assertTrue(SparkSettings.problems(Map.of(prefix + "writeBufferSizeMB", "16")).isEmpty());
    }

    @Test
    void othersAreAccepted() {
        assertEquals(
                Map.of(),
                SparkSettings.problems(
                        Map.of(
                                "spark.sql.shuffle.partitions", "${spark.task.cpus}",
                                "spark.task.cpus", "2",
                                "spark.locality.wait", "3s",
                                "spark.hadoop.fs.s3a.endpoint", "http://localhost",
                                "spark.somebody.plugin", "x")));
    }

    @Test
    void namesOfAllPartsAreKnown() {
        List<String> names = List.of(SparkSettings.names().split("\n"));
        for (String name :
                List.of(
                        "spark.task.cpus",
                        "spark.sql.shuffle.partitions",
                        "spark.sql.warehouse.dir",
                        "spark.rpc.io.threads",
                        "spark.kubernetes.namespace",
                        "spark.yarn.queue")) {
            assertTrue(names.contains(name), name);
        }
    }
}
