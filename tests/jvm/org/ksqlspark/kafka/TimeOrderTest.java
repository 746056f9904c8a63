package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class TimeOrderTest {
    /** Of the topic of input 0, of that of input 1, and so on. */
    private static final String[] TOPICS = {"left", "right"};

    /** A partition that has been read up to where the broker has nothing more, but for records. */
    private static PartitionBuffer buffer(int input, int number, long end, long... times) {
        return buffer(input, number, end, false, times);
    }

    private static PartitionBuffer buffer(
            int input, int number, long end, boolean isFirst, long... times) {
        TopicPartition at = new TopicPartition(TOPICS[input], number);
        MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");
        consumer.assign(List.of(at));
        consumer.updateBeginningOffsets(Map.of(at, 0L));
        consumer.updateEndOffsets(Map.of(at, end));
        consumer.seek(at, times.length);
        PartitionBuffer buffer =
                new PartitionBuffer(
                        input, at, consumer, Long.MAX_VALUE, end, isFirst, new IdleWait(0));
        buffer.add(Arrays.stream(times).mapToObj(time -> record(at, time)).toList());
        buffer.lookForMore();
        return buffer;
    }

    private static ConsumerRecord<byte[], byte[]> record(TopicPartition at, long time) {
        return new ConsumerRecord<>(
                at.topic(),
                at.partition(),
                0,
                time,
                TimestampType.CREATE_TIME,
                0,
                0,
                null,
                new byte[0],
                new RecordHeaders(),
                Optional.empty());
    }

    private static TimeOrder order(Map<String, String> options, PartitionBuffer... buffers) {
        Map<String, String> all = new HashMap<>(options);
        all.put("ksql.run", "r");
        TaskOptions read = TaskOptions.of(new CaseInsensitiveStringMap(all));
        return new TimeOrder(List.of(buffers), read, false);
    }

    @Test
    void theOldestComesFirst() {
        PartitionBuffer left = buffer(0, 0, 2, 10, 30);
        PartitionBuffer right = buffer(1, 0, 1, 20);
        TimeOrder order = order(Map.of(), left, right);
        assertSame(left, order.next(null));
        left.takeRecord();
        assertSame(right, order.next(null));
        right.takeRecord();
        assertNull(order.next(null)); // until it is known that there is nothing more
        right.lookForMore();
        assertSame(left, order.next(null));
        left.takeRecord();
        assertNull(order.next(null));
    }

    @Test
    void ofEqualTimesTheLastInputsUnlessTheLeftIsFirst() {
        PartitionBuffer left = buffer(0, 0, 1, 10);
        PartitionBuffer right = buffer(1, 0, 1, 10);
        assertSame(right, order(Map.of(), left, right).next(null));
        assertSame(left, order(Map.of("ksql.left.first", "true"), left, right).next(null));
    }

    @Test
    void ofEqualTimesTheFirstPartition() {
        PartitionBuffer first = buffer(0, 0, 2, 10, 10);
        PartitionBuffer second = buffer(0, 1, 1, 10);
        TimeOrder order = order(Map.of("ksql.one.order", "true"), second, first);
        assertSame(first, order.next(null));
        first.takeRecord();
        assertSame(first, order.next(null));
        first.takeRecord();
        first.lookForMore();
        assertSame(second, order.next(null));
    }

    @Test
    void aLateRecordComesRightAfterTheOneBeforeIt() {
        PartitionBuffer first = buffer(0, 0, 2, 10, 3);
        PartitionBuffer second = buffer(0, 1, 2, 8, 11);
        TimeOrder order = order(Map.of("ksql.one.order", "true"), first, second);
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < 4; i++) {
            found.append(order.next(null).takeRecord().timestamp()).append(' ');
            first.lookForMore();
            second.lookForMore();
        }
        assertEquals("8 10 3 11 ", found.toString());
    }

    @Test
    void nothingComesWhileAnotherPartitionIsKnownToHaveMore() {
        PartitionBuffer left = buffer(0, 0, 1, 10);
        PartitionBuffer right = buffer(1, 0, 7);
        assertNull(order(Map.of(), left, right).next(null));
        assertSame(left, order(Map.of("ksql.max.task.idle.ms", "-1"), left, right).next(null));
    }

    @Test
    void partitionsOfOtherNumbersAreNotWaitedFor() {
        PartitionBuffer first = buffer(0, 0, 1, 10);
        PartitionBuffer second = buffer(0, 1, 7);
        assertSame(first, order(Map.of(), first, second).next(null));
        assertNull(order(Map.of("ksql.one.order", "true"), first, second).next(null));
    }

    @Test
    void groupsHaveTurns() {
        PartitionBuffer first = buffer(0, 0, 2, 10, 11);
        PartitionBuffer second = buffer(0, 1, 2, 1, 2);
        TimeOrder order = order(Map.of(), first, second);
        assertSame(first, order.next(null));
        assertSame(first, order.next(null));
        order.nextTurn();
        assertSame(second, order.next(null));
        second.takeRecord();
        second.takeRecord();
        assertSame(first, order.next(null));
    }

    @Test
    void theLowestIsUnknownWhileThereIsMore() {
        PartitionBuffer left = buffer(0, 0, 1, 10);
        assertEquals(10, order(Map.of(), left, buffer(1, 0, 0)).lowest(null));
        assertEquals(Long.MIN_VALUE, order(Map.of(), left, buffer(1, 0, 7)).lowest(null));
    }

    @Test
    void withoutPartitionsThereIsNothing() {
        TimeOrder order = order(Map.of());
        order.nextTurn();
        assertNull(order.next(null));
        assertEquals(Long.MAX_VALUE, order.waitMs());
    }

    @Test
    void whatIsFirstComesBeforeOlderRecords() {
        PartitionBuffer stream = buffer(0, 0, 1, 1);
        PartitionBuffer table = buffer(1, 0, 1, true, 5);
        TimeOrder order = order(Map.of(), stream, table);
        assertSame(table, order.next(null));
        table.takeRecord();
        table.lookForMore();
        assertSame(stream, order.next(null));
    }

    @Test
    void whatIsFirstIsWaitedForEvenIfNothingElseIs() {
        PartitionBuffer stream = buffer(0, 0, 1, 1);
        PartitionBuffer table = buffer(1, 0, 9, true);
        assertNull(order(Map.of("ksql.max.task.idle.ms", "-1"), stream, table).next(null));
    }
}
