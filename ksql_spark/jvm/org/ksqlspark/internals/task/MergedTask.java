package org.ksqlspark.internals.task;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.internal.connector.PartitionOffsetWithIndex;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.util.CollectionAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import org.ksqlspark.kafka.RecordRow;
import org.ksqlspark.kafka.TaskPartition;
import org.ksqlspark.kafka.TaskReader;
import org.ksqlspark.state.KeyedOperator;

import scala.collection.AbstractIterator;
import scala.collection.Iterator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * A Spark task that reads several topics with one reader, and hands out the rows that are made of
 * their records in the order of the rows' times.
 *
 * <p>Each input stays a Spark pipeline of its own: decoding, filters, projections, generated code.
 * Its scan has one record, the one to decode now, and then says that there are no more, until it is
 * given the next. That works since generated code asks its input again whenever it is asked for a
 * row. The rows are copied and wait with their partition ({@link TaskReader}) until they are the
 * oldest.
 */
final class MergedTask {
    private static final Map<Long, MergedTask> RUNNING = new ConcurrentHashMap<>();

    private final int index;
    private final List<Iterator<InternalRow>> inputs = new ArrayList<>();
    private final List<Scan> scans = new ArrayList<>();
    private final ArrayDeque<InternalRow> beats = new ArrayDeque<>();
    private TaskReader reader;
    private int time;
    private List<InternalRow> heartbeat = List.of();
    private long heartbeatMs;
    private long nextBeat = Long.MAX_VALUE;
    private boolean isEnding;
    private boolean isOver;

    private MergedTask(int index) {
        this.index = index;
    }

    /** That of the Spark task that runs in this thread. */
    static MergedTask here() {
        TaskContext task = TaskContext.get();
        return RUNNING.computeIfAbsent(
                task.taskAttemptId(),
                id -> {
                    MergedTask made = new MergedTask(task.partitionId());
                    TaskCompletionListener ended =
                            context -> {
                                RUNNING.remove(id);
                                if (made.reader != null) {
                                    made.reader.close();
                                }
                            };
                    task.addTaskCompletionListener(ended);
                    return made;
                });
    }

    /** What an input's pipeline reads. */
    private final class Scan extends AbstractIterator<InternalRow> {
        private final TaskPartition part;
        private final long end;
        private final CollectionAccumulator<PartitionOffsetWithIndex> offsets;
        private final SQLMetric count;
        private ConsumerRecord<byte[], byte[]> record;

        private Scan(
                TaskPartition part,
                long end,
                CollectionAccumulator<PartitionOffsetWithIndex> offsets,
                SQLMetric count) {
            this.part = part;
            this.end = end;
            this.offsets = offsets;
            this.count = count;
        }

        @Override
        public boolean hasNext() {
            return record != null;
        }

        @Override
        public InternalRow next() {
            if (record == null) {
                throw new NoSuchElementException();
            }
            ConsumerRecord<byte[], byte[]> taken = record;
            record = null;
            count.add(1L);
            return new RecordRow(taken);
        }
    }

    /** The records of a topic, for the input that is being added. */
    Iterator<InternalRow> scan(
            TaskPartition part,
            long end,
            CollectionAccumulator<PartitionOffsetWithIndex> offsets,
            SQLMetric count) {
        Scan scan = new Scan(part, end, offsets, count);
        scans.add(scan);
        return scan;
    }

    void addInput(Supplier<Iterator<InternalRow>> input) {
        inputs.add(input.get());
        if (inputs.size() != scans.size()) {
            throw new IllegalStateException(
                    "input " + inputs.size() + " does not read exactly one topic");
        }
    }

    /**
     * The rows of all inputs.
     *
     * @param names of the columns
     * @param types of the columns
     * @param everyMs see TaskRule.HEARTBEAT_MS
     * @param beating see TaskRule.HEARTBEAT_TASKS
     */
    Iterator<InternalRow> start(
            List<String> names, DataType[] types, long everyMs, String beating) {
        time = names.indexOf("ts");
        reader = TaskReader.of(scans.stream().map(scan -> scan.part).toList());
        reader.decodeWith(this::decode);
        if (everyMs > 0) {
            heartbeatMs = everyMs;
            nextBeat = System.currentTimeMillis() + everyMs;
            int[] tasks =
                    beating.isEmpty()
                            ? reader.numbers()
                            : Arrays.stream(beating.split(","))
                                    .mapToInt(Integer::parseInt)
                                    .toArray();
            heartbeat = heartbeats(names, types, tasks);
        }
        return new AbstractIterator<>() {
            private InternalRow row;

            @Override
            public boolean hasNext() {
                if (row == null) {
                    row = advance();
                }
                return row != null;
            }

            @Override
            public InternalRow next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                InternalRow next = row;
                row = null;
                return next;
            }
        };
    }

    private static List<InternalRow> heartbeats(List<String> names, DataType[] types, int[] tasks) {
        UnsafeProjection projection = UnsafeProjection.create(types);
        List<InternalRow> rows = new ArrayList<>();
        for (int task : tasks) {
            GenericInternalRow row = new GenericInternalRow(types.length);
            row.update(names.indexOf("task"), task);
            row.update(names.indexOf("k"), new byte[0]);
            row.update(names.indexOf("side"), KeyedOperator.HEARTBEAT);
            row.update(names.indexOf("ts"), 0L);
            rows.add(projection.apply(row).copy());
        }
        return rows;
    }

    private void decode(
            int input, ConsumerRecord<byte[], byte[]> record, TaskReader.Decoder.Sink rows) {
        scans.get(input).record = record;
        Iterator<InternalRow> made = inputs.get(input);
        while (made.hasNext()) {
            InternalRow row = made.next();
            rows.add(row.getLong(time), row.copy());
        }
        if (scans.get(input).record != null) {
            throw new IllegalStateException("input " + input + " did not read its record");
        }
    }

    private InternalRow advance() {
        long end = scans.get(0).end;
        while (!isOver) {
            if (!beats.isEmpty()) {
                return beats.poll();
            }
            if (!isEnding) {
                if (reader.advance(Math.min(end, nextBeat))) {
                    return reader.row();
                }
                long now = System.currentTimeMillis();
                if (now < end && now >= nextBeat && !reader.isEnding()) {
                    nextBeat = now + heartbeatMs;
                    beats.addAll(heartbeat);
                    continue;
                }
                isEnding = true;
            }
            if (reader.advanceToEnd()) {
                return reader.row();
            }
            isOver = true;
            for (int i = 0; i < scans.size(); i++) {
                if (scans.get(i).offsets != null) {
                    scans.get(i)
                            .offsets
                            .add(new PartitionOffsetWithIndex(index, reader.offsets(i)));
                }
            }
        }
        return null;
    }
}
