package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.kafka.SizeLimit;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

class FrontierTest {
    private static final String TOPIC = "internal";

    private MockProducer<byte[], byte[]> kafka;
    private QueryProducer producer;

    @BeforeEach
    void start() {
        var bytes = new ByteArraySerializer();
        List<PartitionInfo> partitions =
                IntStream.range(0, 4)
                        .mapToObj(number -> new PartitionInfo(TOPIC, number, null, null, null))
                        .toList();
        Cluster cluster = new Cluster(null, List.of(), partitions, Set.of(), Set.of());
        kafka = new MockProducer<>(cluster, false, null, bytes, bytes);
        producer = new QueryProducer(kafka, SizeLimit.NONE, "log", "Q", TOPIC);
    }

    @AfterEach
    void forget() {
        Frontier.forget(TOPIC);
    }

    private static Frontier.Progress task(int number) {
        return Frontier.progress(TOPIC, 2, number);
    }

    private void send(int partition) {
        producer.send(new ProducerRecord<>(TOPIC, partition, null, new byte[] {1}));
    }

    private static void assertReached(long time, Map<Integer, Long> offsets) {
        assertEquals(time, Frontier.time(TOPIC));
        for (int at = 0; at < 4; at++) {
            assertEquals(offsets.getOrDefault(at, -1L), Frontier.offset(TOPIC, at));
        }
    }

    @Test
    void whatWasHandedOutCountsWhenItsResultsHaveArrived() {
        assertReached(Long.MIN_VALUE, Map.of());
        task(1).note(1, Frontier.IDLE);
        task(0).note(1, 100);
        assertReached(100, Map.of());
        send(0);
        send(3);
        task(0).note(2, 200);
        send(0);
        task(0).note(3, 300);
        assertReached(100, Map.of());
        kafka.completeNext();
        assertReached(100, Map.of(0, 0L));
        kafka.completeNext();
        assertReached(200, Map.of(0, 0L, 3, 0L));
        kafka.completeNext();
        assertReached(300, Map.of(0, 1L, 3, 0L));
    }

    @Test
    void theSlowestTaskCounts() {
        task(0).note(1, 100);
        assertReached(Long.MIN_VALUE, Map.of());
        task(1).note(1, 50);
        assertReached(50, Map.of());
    }

    @Test
    void aRecordThatIsTooLargeHoldsNothingUp() {
        task(1).note(1, Frontier.IDLE);
        send(0);
        task(0).note(1, 100);
        kafka.errorNext(new RecordTooLargeException());
        assertReached(100, Map.of());
    }

    @Test
    void theDriverKnowsItOfAllExecutors() {
        send(2);
        kafka.completeNext();
        task(0).note(1, 70);
        Map<String, RunReport.TaskTimes> report = Frontier.report(2);
        Frontier.forget(TOPIC);
        report.forEach(Frontier::note);
        Frontier.note(TOPIC, new RunReport.TaskTimes(2, Map.of(1, 90L), Map.of(2, 8L, 1, 5L)));
        assertReached(70, Map.of(2, 8L, 1, 5L));
        assertEquals(Map.of(TOPIC, new Frontier.Reached(70, Map.of(2, 8L, 1, 5L))), Frontier.all());
    }
}
