package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

final class TrafficTest {
    private static final byte[] TWO = {1, 2};

    private static JsonNode report(String server) throws Exception {
        return new ObjectMapper().readTree(Traffic.report(server)).get("queries");
    }

    private static ProducerRecord<byte[], byte[]> record(long ageMs) {
        long time = System.currentTimeMillis() - ageMs;
        return new ProducerRecord<>("out", null, time, null, TWO);
    }

    private static long[] numbers(JsonNode array) {
        long[] found = new long[array.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = array.get(i).asLong();
        }
        return found;
    }

    @Test
    void countsByQueryAndTopic() throws Exception {
        Traffic traffic = Traffic.of("one", "q");
        traffic.read("in", List.of(new ConsumerRecord<>("in", 0, 0, TWO, TWO)));
        traffic.wrote(record(0), true);
        traffic.wrote(record(0), false);
        traffic.paused(150);
        JsonNode found = report("one").get("q");
        assertEquals(1, found.get("read").get("in").get(0).asLong());
        assertArrayEquals(new long[] {2, 4}, numbers(found.get("written").get("out")));
        assertEquals(150, numbers(found.get("pauses"))[29]);
        assertEquals(1, numbers(found.get("pauses"))[12]);
        assertEquals(0, report("another").size());
        Traffic.forget("one", "q");
        assertEquals(0, report("one").size());
    }

    @Test
    void theFirstOddTimeIsKept() throws Exception {
        long now = System.currentTimeMillis();
        Traffic traffic = Traffic.of("odd", "q");
        traffic.timed(now + 3_600_000, now);
        assertTrue(report("odd").get("q").get("oddTime").isNull());
        traffic.timed(now * 1000, now);
        traffic.timed(0, now);
        assertEquals(now * 1000, report("odd").get("q").get("oddTime").asLong());
        Traffic.forget("odd", "q");
        Traffic.of("odd", "q").timed(now / 1000, now);
        assertEquals(now / 1000, report("odd").get("q").get("oddTime").asLong());
        Traffic.forget("odd", "q");
    }

    @Test
    void whatIsLaterThanEveryBoundIsCounted() throws Exception {
        Traffic.of("late", "q").wrote(record(3_600_000), true);
        long[] found = numbers(report("late").get("q").get("latencies").get("out"));
        assertEquals(1, found[28]);
        assertTrue(found[29] >= 3_600_000);
        Traffic.forget("late", "q");
    }

    @Test
    void figuresOfAnotherJvmAreAddedOnce() throws Exception {
        Traffic.of("remote", "q").wrote(record(0), true);
        Traffic.of("remote", "q").waits("0 in", 5);
        Map<String, Traffic.Figures> taken = Traffic.take();
        assertEquals(
                0, numbers(report("remote").get("q").get("written").get("out"))[0], "it was taken");
        Traffic.add(taken);
        JsonNode found = report("remote").get("q");
        assertArrayEquals(new long[] {1, 2}, numbers(found.get("written").get("out")));
        assertEquals(5, found.get("waiting").get("0 in").asLong());
        Traffic.forget("remote", "q");
    }

    @Test
    void aTimeThatWasOldWhenItsRecordCameIsNoLatency() throws Exception {
        Traffic traffic = Traffic.of("past", "q");
        long now = System.currentTimeMillis();
        traffic.wrote(record(3_600_000), true);
        assertEquals(1, numbers(report("past").get("q").get("latencies").get("out"))[28]);
        traffic.caughtUp("0 in", now);
        traffic.caughtUp("1 in", now - 7_200_000);
        traffic.wrote(record(3_600_000), true);
        long[] found = numbers(report("past").get("q").get("latencies").get("out"));
        assertEquals(2, found[28], "the other task may have had it for long");
        traffic.caughtUp("1 in", now);
        traffic.wrote(record(3_600_000), true);
        traffic.wrote(record(0), true);
        found = numbers(report("past").get("q").get("latencies").get("out"));
        assertEquals(2, found[28]);
        assertEquals(1, found[0] + found[1] + found[2] + found[3] + found[4] + found[5]);
        traffic.caughtUp("0 in", null);
        traffic.caughtUp("1 in", null);
        traffic.wrote(record(3_600_000), true);
        assertEquals(3, numbers(report("past").get("q").get("latencies").get("out"))[28]);
        Traffic.forget("past", "q");
    }

    @Test
    void aRecordWaitsSinceAllBeforeItWasReadAtTheEarliest() throws Exception {
        Traffic traffic = Traffic.of("waits", "q");
        traffic.caughtUp("0 in", 1000L);
        traffic.waits("0 in", 10);
        assertEquals(1000, report("waits").get("q").get("waiting").get("0 in").asLong());
        traffic.waits("0 in", 2000);
        assertEquals(2000, report("waits").get("q").get("waiting").get("0 in").asLong());
        traffic.reached("0 in", new TopicPartition("in", 3), 14);
        assertEquals(14, report("waits").get("q").get("reached").get("0 in/in/3").asLong());
        Traffic.forget("waits", "q");
    }
}
