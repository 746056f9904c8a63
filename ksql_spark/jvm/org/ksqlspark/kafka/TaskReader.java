package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.ksqlspark.shuffle.PendingRows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Reads a task's partitions of one or more topics, as a task of Kafka Streams does: with one
 * consumer, and the records of partitions that belong together by time, the oldest first.
 *
 * <p>Of partitions that belong together nothing is handed out while one of them is empty here but
 * known to have more. So the order is that of the records' times however they were fetched. A
 * partition is not fetched while much of it is here. The reader is kept from batch to batch, with
 * what it has fetched.
 */
public final class TaskReader implements SupportsRealTimeRead<InternalRow> {
    /**
     * So much is handed out before the consumer is asked for more and the next group has its turn.
     */
    private static final int TURN = 1000;

    /**
     * For how long to wait for records before looking whether to end, ms: as long as the broker
     * lets a fetch wait, so that looking costs an idle query next to nothing.
     */
    private static final long LOOK_MS = 500;

    /** The same while the sub-topology before is waited for. */
    private static final long LOOK_AGAIN_MS = 10;

    /** For how long rows may wait in a shuffle's buffer while there are more records, ns. */
    private static final long SEND_NS = 2_000_000;

    /** After how many records to look at that. */
    private static final int SEND_EVERY = 32;

    /** The deadline in micro-batches. */
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    /** What makes rows of a record, where rows are put in order instead of records. */
    public interface Decoder {
        /** Takes a row, and its time in ms. */
        interface Sink {
            void add(long time, InternalRow row);
        }

        void decode(int input, ConsumerRecord<byte[], byte[]> record, Sink rows);
    }

    private final QueryRun run;
    private final String name;

    /** Where what is read is counted; null: nowhere. */
    private final Traffic traffic;

    private final long maxIdleMs;
    private final boolean isOneOrder;
    private final List<PartitionBuffer> buffers = new ArrayList<>();
    private final List<KafkaConsumer<byte[], byte[]>> consumers = new ArrayList<>();
    private final List<Map<TopicPartition, PartitionBuffer>> fetched = new ArrayList<>();

    /** What belongs together, and the numbers of these partitions. */
    private final PartitionBuffer[][] groups;

    private final int[] numbers;
    private final boolean isBatch;

    private Decoder decoder;
    private int turn;
    private int handedOut;

    /** Where the query writes an internal topic: how far this task has got. */
    private final Frontier.Progress progress;

    /** When that was noted last, ms. */
    private long noted;

    private final String waitsFor;
    private final Losses losses;
    private final Timestamps timestamps;

    private boolean isAhead;

    /** How long to wait for empty partitions of groups that have something, ms. */
    private long wait;

    private ConsumerRecord<byte[], byte[]> record;
    private InternalRow row;
    private boolean hasFailed;

    /** Whose reader this is in the batch that runs; null: not a task's. */
    private TaskContext task;

    /** When rows that wait in the task's shuffle were sent last, ns. */
    private long sent;

    /**
     * The reader of a task, as it was left by the batch before where this one goes on from there.
     *
     * @param inputs what the task reads of each topic; an input's number is its place here
     */
    public static TaskReader of(List<TaskPartition> inputs) {
        TaskOptions options = inputs.get(0).options();
        QueryRun run = QueryRun.of(options.run(), options.batchMs());
        TaskContext task = TaskContext.get();
        if (RemoteRuns.follows() && task != null) {
            run.begin(Long.parseLong(task.getLocalProperty(DrainableSource.BATCH_ID)));
        }
        StringBuilder name = new StringBuilder().append(inputs.get(0).index());
        for (TaskPartition input : inputs) {
            input.ranges().stream()
                    .map(range -> range.offsetRange().topic())
                    .distinct()
                    .forEach(topic -> name.append(' ').append(topic));
        }
        TaskReader kept = run.take(name.toString());
        if (kept != null && !kept.goesOnWith(inputs)) {
            kept.closeConsumers();
            kept = null;
        }
        TaskReader reader = kept != null ? kept : new TaskReader(run, name.toString(), inputs);
        reader.task = task;
        if (reader.isBatch) {
            reader.noteBatch(Long.MIN_VALUE);
        }
        run.add(reader);
        return reader;
    }

    private TaskReader(QueryRun run, String name, List<TaskPartition> inputs) {
        this.run = run;
        this.name = name;
        TaskOptions options = inputs.get(0).options();
        traffic = options.log().isEmpty() ? null : Traffic.of(options.log(), options.query());
        maxIdleMs = options.maxIdleMs();
        waitsFor = options.waitsFor();
        losses = new Losses(options);
        timestamps = new Timestamps(options);
        progress =
                options.feeds().isEmpty()
                        ? null
                        : Frontier.progress(
                                options.feeds(), options.tasks(), inputs.get(0).index());
        isOneOrder = options.isOneOrder();
        TreeMap<Integer, List<PartitionBuffer>> found = new TreeMap<>();
        boolean hasEnd = false;
        for (Share share : shares(inputs)) {
            KafkaBatchInputPartition any = share.ranges.values().iterator().next();
            KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(any));
            consumers.add(consumer);
            consumer.assign(share.ranges.keySet());
            share.ranges.forEach(
                    (at, range) -> consumer.seek(at, range.offsetRange().fromOffset()));
            Map<TopicPartition, Long> ends =
                    inputs.size() > 1 || isOneOrder
                            ? consumer.endOffsets(share.ranges.keySet())
                            : Map.of();
            Map<TopicPartition, PartitionBuffer> own = new HashMap<>();
            share.ranges.forEach(
                    (at, range) -> {
                        PartitionBuffer buffer =
                                new PartitionBuffer(
                                        share.inputs.get(at),
                                        at,
                                        consumer,
                                        until(range.offsetRange()),
                                        ends.getOrDefault(at, 0L),
                                        new IdleWait(maxIdleMs));
                        own.put(at, buffer);
                        buffers.add(buffer);
                        int group = isOneOrder ? 0 : at.partition();
                        found.computeIfAbsent(group, n -> new ArrayList<>()).add(buffer);
                    });
            fetched.add(own);
            hasEnd |=
                    share.ranges.values().stream()
                            .anyMatch(r -> r.offsetRange().untilOffset() < Long.MAX_VALUE);
        }
        // of records of equal times the first in this order are taken first
        Comparator<PartitionBuffer> leftFirst = Comparator.comparingInt(buffer -> buffer.input);
        Comparator<PartitionBuffer> order =
                options.isLeftFirst() ? leftFirst : leftFirst.reversed();
        found.values().forEach(list -> list.sort(order));
        groups =
                found.values().stream()
                        .map(list -> list.toArray(new PartitionBuffer[0]))
                        .toArray(PartitionBuffer[][]::new);
        numbers =
                buffers.stream()
                        .mapToInt(b -> b.partition.partition())
                        .distinct()
                        .sorted()
                        .toArray();
        isBatch = hasEnd;
    }

    /** What one consumer fetches: a partition that two inputs read needs two. */
    private record Share(
            Map<TopicPartition, KafkaBatchInputPartition> ranges,
            Map<TopicPartition, Integer> inputs) {}

    private static List<Share> shares(List<TaskPartition> inputs) {
        List<Share> shares = new ArrayList<>();
        for (int input = 0; input < inputs.size(); input++) {
            for (KafkaBatchInputPartition range : inputs.get(input).ranges()) {
                TopicPartition at = range.offsetRange().topicPartition();
                Share free =
                        shares.stream()
                                .filter(share -> !share.ranges.containsKey(at))
                                .findFirst()
                                .orElse(null);
                if (free == null) {
                    free = new Share(new HashMap<>(), new HashMap<>());
                    shares.add(free);
                }
                free.ranges.put(at, range);
                free.inputs.put(at, input);
            }
        }
        return shares;
    }

    private static Map<String, Object> settings(KafkaBatchInputPartition range) {
        Map<String, Object> settings = new HashMap<>(range.executorKafkaParams());
        settings.put("auto.offset.reset", "none"); // records that are gone are counted
        settings.putIfAbsent("max.poll.records", "2000");
        // what is on its way can arrive while records are handled: Spark's source sets 64 KiB, and
        // a
        // fetch has up to 1 MiB
        settings.put("receive.buffer.bytes", 2 << 20);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return settings;
    }

    private static long until(KafkaOffsetRange range) {
        return range.untilOffset() < 0 ? Long.MAX_VALUE : range.untilOffset();
    }

    /** Whether a batch begins where this reader is; if so, it ends where the batch says. */
    private boolean goesOnWith(List<TaskPartition> inputs) {
        Set<PartitionBuffer> idle = new HashSet<>(buffers);
        for (int input = 0; input < inputs.size(); input++) {
            for (KafkaBatchInputPartition range : inputs.get(input).ranges()) {
                PartitionBuffer buffer = find(input, range.offsetRange().topicPartition());
                if (buffer == null || !buffer.continuesAt(range.offsetRange().fromOffset())) {
                    return false;
                }
                buffer.setUntil(until(range.offsetRange()));
                idle.remove(buffer);
            }
        }
        // in real time all are read; a batch leaves out those that have nothing new
        idle.stream()
                .filter(buffer -> !buffer.isOver())
                .forEach(buffer -> buffer.setUntil(buffer.reached()));
        return isBatch || idle.isEmpty();
    }

    private PartitionBuffer find(int input, TopicPartition at) {
        for (PartitionBuffer buffer : buffers) {
            if (buffer.input == input && buffer.partition.equals(at)) {
                return buffer;
            }
        }
        return null;
    }

    /** Puts rows in order instead of records, by the time that each has. */
    public void decodeWith(Decoder makesRows) {
        decoder = makesRows;
    }

    /** The numbers of the task's partitions. */
    public int[] numbers() {
        return numbers;
    }

    /** Whether a batch in real time ends: it is time, or the query is drained. */
    public boolean isEnding() {
        return run.isOver();
    }

    /** Ends the wait for records, from any thread. */
    void wakeUp() {
        consumers.forEach(KafkaConsumer::wakeup);
    }

    /**
     * Goes on to what comes next.
     *
     * @param deadline when to stop, ms of the epoch; looked at now and then while there is
     *     something
     * @return false at the deadline, at the end of a micro-batch, and while draining
     */
    public boolean advance(long deadline) {
        while (true) {
            if (deadline != NO_DEADLINE && run.isOver()) {
                return false;
            }
            if (handedOut < TURN && select()) {
                handedOut++;
                if (handedOut % SEND_EVERY == 0 && System.nanoTime() - sent >= SEND_NS) {
                    sendRows();
                }
                return true;
            }
            boolean hadTurn = handedOut >= TURN;
            int count = handedOut;
            handedOut = 0;
            turn = groups.length == 0 ? 0 : (turn + 1) % groups.length;
            if (hadTurn) {
                // not only for those that may get more: a fetch of nothing else would wait for
                // records, and the next one for its answer
                if (wantsMore()) {
                    poll(0);
                }
                if (deadline != NO_DEADLINE) {
                    long now = System.currentTimeMillis();
                    if (now >= deadline || run.isEnding(now, count)) {
                        return false;
                    }
                }
                continue;
            }
            // a batch has no deadline; one that has nothing for this task is over at once
            if (deadline == NO_DEADLINE && buffers.stream().allMatch(PartitionBuffer::isOver)) {
                return false;
            }
            long now = System.currentTimeMillis();
            if (now >= deadline || deadline != NO_DEADLINE && run.isEnding(now, count)) {
                return false;
            }
            long look = Math.min(wait, isAhead ? LOOK_AGAIN_MS : LOOK_MS);
            look = Math.min(look, Math.max(run.due() - now, BatchEnd.QUIET_MS));
            sendRows();
            poll(Math.min(deadline - now, look));
        }
    }

    /**
     * Sends what the task has written to a shuffle: it is about to wait, or has worked for long.
     */
    private void sendRows() {
        PendingRows rows = task == null ? null : PendingRows.of(task);
        if (rows != null) {
            rows.send();
        }
        sent = System.nanoTime();
    }

    /**
     * Notes the time of what is to be handed out next, now and then. In real time the results of
     * everything before have been sent.
     */
    private void noteNow(boolean isDue) {
        if (progress == null || isBatch) {
            return;
        }
        long now = System.currentTimeMillis();
        if (!isDue && now < noted + Frontier.EVERY_MS) {
            return;
        }
        noted = now;
        long lowest = Frontier.IDLE;
        for (PartitionBuffer[] group : groups) {
            for (PartitionBuffer buffer : group) {
                long head = decoder == null ? buffer.recordTime() : buffer.rowTime(decoder);
                boolean isUnknown = head == PartitionBuffer.NONE && !buffer.isCaughtUp();
                lowest = Math.min(lowest, isUnknown ? Long.MIN_VALUE : head);
            }
        }
        progress.note(now, lowest);
    }

    /** The results of a micro-batch are sent when it is over. */
    private void noteBatch(long next) {
        if (progress != null) {
            progress.note(System.currentTimeMillis(), next);
        }
    }

    /** At a batch's end: what is left of a record of which something was handed out. */
    public boolean advanceToEnd() {
        for (PartitionBuffer buffer : buffers) {
            if (buffer.isPartlyHandedOut()) {
                row = buffer.takeRow();
                return true;
            }
        }
        return false;
    }

    /** The row that advance() went on to, where rows are put in order. */
    public InternalRow row() {
        return row;
    }

    /** Take what comes next, if there is something; the groups have turns. */
    private boolean select() {
        isAhead = false;
        wait = Long.MAX_VALUE;
        noteNow(false);
        for (int i = 0; i < groups.length; i++) {
            int number = (turn + i) % groups.length;
            PartitionBuffer next = oldest(number);
            if (next != null) {
                turn = number;
                if (decoder == null) {
                    record = next.takeRecord();
                } else {
                    row = next.takeRow();
                }
                return true;
            }
        }
        noteNow(true);
        return false;
    }

    /** The partition that has the oldest; null where that is not known yet, or there is nothing. */
    private PartitionBuffer oldest(int number) {
        PartitionBuffer[] group = groups[number];
        PartitionBuffer best = null;
        long time = PartitionBuffer.NONE;
        long idle = 0;
        PartitionBuffer fed = null;
        for (PartitionBuffer buffer : group) {
            long head = decoder == null ? buffer.recordTime() : buffer.rowTime(decoder);
            if (head == PartitionBuffer.NONE) {
                if (!buffer.isCaughtUp() && maxIdleMs >= 0 && group.length > 1) {
                    buffer.idle.end();
                    return null;
                }
                if (maxIdleMs > 0 && !isBatch) {
                    idle = Math.max(idle, buffer.idle.left(System.currentTimeMillis()));
                }
                if (buffer.partition.topic().equals(waitsFor)) {
                    fed = buffer;
                }
            } else {
                buffer.idle.end();
                if (head < time) {
                    best = buffer;
                    time = head;
                }
            }
        }
        if (best == null) {
            return null;
        }
        if (fed != null && !isBatch && maxIdleMs >= 0 && isAhead(fed, time)) {
            isAhead = true;
            return null;
        }
        if (idle > 0) {
            wait = Math.min(wait, idle);
            return null;
        }
        return best;
    }

    /**
     * Whether records of a time may still come from the sub-topology before.
     *
     * @param fed what it writes, of which nothing is here
     */
    private boolean isAhead(PartitionBuffer fed, long time) {
        return time >= Frontier.time(waitsFor)
                || fed.isBehind(
                        Frontier.offset(waitsFor, fed.partition.partition()),
                        System.nanoTime() / 1_000_000);
    }

    private boolean wantsMore() {
        for (PartitionBuffer buffer : buffers) {
            if (buffer.wantsMore()) {
                return true;
            }
        }
        return false;
    }

    private void poll(long timeout) {
        if (consumers.isEmpty()) {
            sleep(timeout);
            return;
        }
        noteWaiting();
        buffers.forEach(PartitionBuffer::pauseOrResume);
        hasFailed = true;
        boolean isEmpty = true;
        for (int i = 0; i < consumers.size(); i++) {
            ConsumerRecords<byte[], byte[]> found =
                    fetched(consumers.get(i), timeout / consumers.size());
            for (TopicPartition at : found.partitions()) {
                fetched.get(i).get(at).add(timestamps.readable(found.records(at)));
                if (traffic != null) {
                    traffic.read(at.topic(), found.records(at));
                }
                isEmpty = false;
            }
        }
        if (isEmpty && isBatch && timeout >= LOOK_MS) {
            shorten();
        }
        hasFailed = false;
        buffers.forEach(PartitionBuffer::lookForMore);
        noteWaiting();
    }

    private void noteWaiting() {
        if (traffic != null) {
            long oldest = PartitionBuffer.NONE;
            for (PartitionBuffer buffer : buffers) {
                oldest = Math.min(oldest, buffer.recordTime());
            }
            traffic.waits(name, oldest);
        }
    }

    /** There was a pause between two batches of its query. */
    void paused(long ms) {
        if (traffic != null) {
            traffic.paused(ms);
        }
    }

    private ConsumerRecords<byte[], byte[]> fetched(
            KafkaConsumer<byte[], byte[]> consumer, long timeout) {
        try {
            return consumer.poll(Duration.ofMillis(timeout));
        } catch (WakeupException batchEnds) {
            return ConsumerRecords.empty();
        } catch (OffsetOutOfRangeException gone) {
            losses.skip(consumer, gone);
            return ConsumerRecords.empty();
        }
    }

    private void shorten() {
        long now = System.nanoTime() / 1_000_000;
        for (int i = 0; i < consumers.size(); i++) {
            Map<TopicPartition, PartitionBuffer> own = fetched.get(i);
            consumers
                    .get(i)
                    .endOffsets(own.keySet())
                    .forEach((at, end) -> losses.end(at, end, own.get(at).shortenTo(end, now)));
        }
    }

    private static void sleep(long timeout) {
        try {
            Thread.sleep(timeout);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(ended);
        }
    }

    @Override
    public RecordStatus nextWithTimeout(Long start, Long timeout) {
        return RecordStatus.newStatusWithoutArrivalTime(advance(start + timeout));
    }

    @Override
    public boolean next() {
        return advance(NO_DEADLINE);
    }

    @Override
    public InternalRow get() {
        return new RecordRow(record);
    }

    @Override
    public PartitionOffset getOffset() {
        return offsets(0);
    }

    /** How far an input was read. */
    public TaskOffsets offsets(int input) {
        List<PartitionBuffer> own = buffers.stream().filter(b -> b.input == input).toList();
        return new TaskOffsets(
                own.stream().map(buffer -> buffer.partition).toArray(TopicPartition[]::new),
                own.stream().mapToLong(PartitionBuffer::reached).toArray());
    }

    /** Keeps the reader for the next batch, unless this one has failed. */
    @Override
    public void close() {
        run.remove(this);
        decoder = null;
        record = null;
        row = null;
        TaskContext own = task;
        task = null;
        if (hasFailed || own != null && (own.isInterrupted() || own.isFailed())) {
            closeConsumers();
        } else {
            if (isBatch && buffers.stream().noneMatch(PartitionBuffer::hasMore)) {
                noteBatch(Frontier.IDLE);
            }
            run.keep(name, this);
        }
    }

    void closeConsumers() {
        if (traffic != null) {
            traffic.waits(name, PartitionBuffer.NONE);
        }
        consumers.forEach(consumer -> consumer.close(CloseOptions.timeout(Duration.ZERO)));
    }
}
