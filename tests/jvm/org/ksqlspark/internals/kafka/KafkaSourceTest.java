package org.ksqlspark.internals.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;
import org.junit.jupiter.api.Test;

import scala.jdk.javaapi.CollectionConverters;

import java.util.HashMap;
import java.util.Map;

final class KafkaSourceTest {
    @Test
    void aStreamGoesNowhereBeyondItsEnd() {
        assertEquals(
                at(Map.of(0, 5L, 1, 7L)),
                KafkaSource.atMost(
                        at(Map.of(0, 1L, 1, 1L)),
                        at(Map.of(0, 9L, 1, 7L)),
                        at(Map.of(0, 5L, 1, 8L))));
    }

    @Test
    void nothingIsReadOfAPartitionThatItsEndDoesNotName() {
        assertEquals(
                at(Map.of(0, 5L, 1, 3L)),
                KafkaSource.atMost(
                        at(Map.of(0, 1L, 1, 3L)),
                        at(Map.of(0, 9L, 1, 7L, 2, 4L)),
                        at(Map.of(0, 5L))));
        assertEquals(
                at(Map.of()), KafkaSource.atMost(at(Map.of()), at(Map.of(0, 9L)), at(Map.of())));
    }

    private static Offset at(Map<Integer, Long> offsets) {
        Map<TopicPartition, Object> found = new HashMap<>();
        offsets.forEach((partition, next) -> found.put(new TopicPartition("t", partition), next));
        return new KafkaSourceOffset(
                scala.collection.immutable.Map.from(CollectionConverters.asScala(found)));
    }
}
