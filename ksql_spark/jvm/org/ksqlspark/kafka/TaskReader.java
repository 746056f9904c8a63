package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.ksqlspark.internals.kafka.TopicRange;
import org.ksqlspark.internals.shuffle.PendingRows;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Reads a task's partitions of one or more topics, as a task of Kafka Streams does: with one
 * consumer ({@link TaskConsumers}), and the records of partitions that belong together by time
 * ({@link TimeOrder}). The reader is kept from batch to batch, with what it has fetched.
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

    private final TaskConsumers consumers;

    /** What the consumers have fetched. */
    private final List<PartitionBuffer> buffers;

    private final TimeOrder order;

    /** The numbers of the task's partitions. */
    private final int[] numbers;

    private final boolean isBatch;

    private Decoder decoder;
    private int handedOut;

    /** Where the query writes an internal topic: how far this task has got. */
    private final Frontier.Progress progress;

    /** When that was noted last, ms. */
    private long noted;

    /**
     * When the batch that runs read its last record, ms: what arrives later waits until the query
     * is done with this one. NONE: it still reads.
     */
    private long ended = PartitionBuffer.NONE;

    private ConsumerRecord<byte[], byte[]> record;
    private InternalRow row;

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
            if (!input.options().pattern().isEmpty()) { // it may find more topics
                name.append(' ').append(input.options().pattern());
                continue;
            }
            input.ranges().stream()
                    .map(range -> range.partition().topic())
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
        progress =
                options.feeds().isEmpty()
                        ? null
                        : Frontier.progress(
                                options.feeds(), options.tasks(), inputs.get(0).index());
        consumers = new TaskConsumers(inputs, traffic);
        buffers = consumers.buffers();
        isBatch = consumers.hasEnd();
        order = new TimeOrder(buffers, options, isBatch);
        numbers =
                buffers.stream()
                        .mapToInt(b -> b.partition.partition())
                        .distinct()
                        .sorted()
                        .toArray();
    }

    /** Whether a batch begins where this reader is; if so, it ends where the batch says. */
    private boolean goesOnWith(List<TaskPartition> inputs) {
        Set<PartitionBuffer> idle = new HashSet<>(buffers);
        for (int input = 0; input < inputs.size(); input++) {
            for (TopicRange range : inputs.get(input).ranges()) {
                PartitionBuffer buffer = find(input, range.partition());
                if (buffer == null || !buffer.continuesAt(range.from())) {
                    return false;
                }
                buffer.setUntil(TaskConsumers.until(range));
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
        consumers.wakeUp();
    }

    /**
     * Goes on to what comes next.
     *
     * @param deadline when to stop, ms of the epoch; looked at now and then while there is
     *     something
     * @return false at the deadline, at the end of a micro-batch, and while draining
     */
    public boolean advance(long deadline) {
        boolean hasNext = advanceUntil(deadline);
        if (!hasNext && ended == PartitionBuffer.NONE && (isBatch || run.isOver())) {
            ended = System.currentTimeMillis();
            noteReached();
        }
        return hasNext;
    }

    private boolean advanceUntil(long deadline) {
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
            order.nextTurn();
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
            long look = Math.min(order.waitMs(), LOOK_MS);
            look = Math.min(look, Math.max(run.due() - now, BatchEnd.QUIET_MS));
            sendRows();
            poll(Math.min(deadline - now, look));
        }
    }

    /**
     * Sends what the task has written to a shuffle: it is about to wait, or has worked for long.
     */
    private void sendRows() {
        PendingRows.send(task);
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
        progress.note(now, order.lowest(decoder));
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

    /** Take what comes next, if there is something. */
    private boolean select() {
        noteNow(false);
        PartitionBuffer next = order.next(decoder);
        if (next == null) {
            noteNow(true);
            return false;
        }
        if (decoder == null) {
            record = next.takeRecord();
        } else {
            row = next.takeRow();
        }
        return true;
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
        noteReached();
        consumers.poll(timeout, isBatch && timeout >= LOOK_MS);
        noteReached();
        if (traffic != null && buffers.stream().noneMatch(PartitionBuffer::hasMore)) {
            traffic.caughtUp(name, System.currentTimeMillis());
        }
    }

    private void noteReached() {
        if (traffic != null) {
            long oldest = ended;
            for (PartitionBuffer buffer : buffers) {
                oldest = Math.min(oldest, buffer.recordTime());
                traffic.reached(name, buffer.partition, buffer.noted());
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
        ended = PartitionBuffer.NONE;
        if (consumers.haveFailed() || own != null && (own.isInterrupted() || own.isFailed())) {
            closeConsumers();
        } else {
            if (isBatch && buffers.stream().noneMatch(PartitionBuffer::hasMore)) {
                noteBatch(Frontier.IDLE);
            }
            // a micro-batch hands the last records out without another poll
            noteReached();
            run.keep(name, this);
        }
    }

    void closeConsumers() {
        if (traffic != null) {
            traffic.waits(name, PartitionBuffer.NONE);
            traffic.caughtUp(name, null);
            buffers.forEach(one -> traffic.reached(name, one.partition, Traffic.CLOSED));
        }
        consumers.close();
    }
}
