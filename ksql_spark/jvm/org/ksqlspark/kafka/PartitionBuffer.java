package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.OptionalLong;

/** One partition of a topic: its records that were fetched and not handed out yet. */
final class PartitionBuffer {
    /** A partition with so many records, or bytes, here is not fetched for now. */
    private static final int MAX_RECORDS = 4000;

    private static final long MAX_BYTES = 16 << 20;

    /**
     * Header of records of internal topics: a row that came late comes late in the next
     * sub-topology too, although its own time is an earlier one.
     */
    private static final String STREAM_TIME = "__ksql_stream_time";

    /**
     * For how long a topic has to end before a batch does until it is believed, ms: one answer of a
     * broker that was killed and starts again is not enough.
     */
    static final long SHORT_MS = 5000;

    /** How long a topic may be said to have more than it has until that is not believed, ms. */
    static final long BEHIND_MS = 30_000;

    private static final long NEVER = Long.MIN_VALUE;

    /** The time of what comes next, where nothing is here. */
    static final long NONE = Long.MAX_VALUE;

    /** Number of the input (a branch of the plan) that its records belong to. */
    final int input;

    final TopicPartition partition;

    /** Whether its records are taken before those of other topics. */
    final boolean isFirst;

    /** How long it is waited for while it is empty. */
    final IdleWait idle;

    private final Consumer<byte[], byte[]> consumer;

    /**
     * What is read before the consumer goes on: records that the topic has no more; null: nothing.
     */
    private Archive archive;

    private final ArrayDeque<ConsumerRecord<byte[], byte[]>> records = new ArrayDeque<>();
    private long bytes;

    /** Where the next record is, as far as is known while none is here. */
    private long noted;

    /** Where a batch ends; the greatest number in real time. */
    private long until;

    /** Where the partition ended when the buffer was made. */
    private final long end;

    private boolean isPaused;

    /** Since when the topic ends before the batch does, on a clock that nobody sets, ms. */
    private long shortSince = NEVER;

    /** Since when the topic is said to have more than it has, on that clock, ms. */
    private long behindSince = NEVER;

    /** Whether the broker is not known to have more. */
    private boolean isCaughtUp;

    /** Rows that were made of one record, in order, and the time of each. */
    private final ArrayDeque<InternalRow> rows = new ArrayDeque<>();

    private final ArrayDeque<Long> times = new ArrayDeque<>();

    /** Of the record that the rows were made of. */
    private long decoded;

    private boolean isPartlyHandedOut;

    PartitionBuffer(
            int input,
            TopicPartition partition,
            Consumer<byte[], byte[]> consumer,
            long until,
            long end,
            boolean isFirst,
            IdleWait idle) {
        this.input = input;
        this.partition = partition;
        this.consumer = consumer;
        this.until = until;
        this.end = end;
        this.isFirst = isFirst;
        this.idle = idle;
        lookForMore();
    }

    void setUntil(long offset) {
        until = offset;
        shortSince = NEVER;
        lookForMore();
    }

    /** The offset of the first record of which not everything was handed out. */
    long reached() {
        return !rows.isEmpty() ? decoded : records.isEmpty() ? position() : records.peek().offset();
    }

    /** As above, without asking the consumer: it does not know of offsets without records yet. */
    long noted() {
        return !rows.isEmpty() ? decoded : records.isEmpty() ? noted : records.peek().offset();
    }

    /** The offset of what is fetched next. */
    private long position() {
        return archive != null ? archive.position() : consumer.position(partition);
    }

    /** Read records that the topic has no more, before it is read where they end. */
    void readFirst(Archive past) {
        archive = past;
        pause(true);
    }

    /**
     * The next records of the archive, which are to be added; none if there is no room for them, or
     * if nothing is left and the topic is read from now on.
     *
     * @param most how many at the most
     */
    List<ConsumerRecord<byte[], byte[]>> readArchive(int most) {
        if (archive == null || isFull()) {
            return List.of();
        }
        List<ConsumerRecord<byte[], byte[]>> found = archive.next(most);
        if (found.isEmpty()) {
            // the consumer's lag counts from the end that it has heard of last
            consumer.endOffsets(List.of(partition));
            consumer.seek(partition, archive.position());
            archive.close();
            archive = null;
        }
        return found;
    }

    void close() {
        if (archive != null) {
            archive.close();
        }
    }

    /**
     * Whether a batch that begins at an offset goes on here. Between the end of the batch before
     * and the next record there may be offsets of transactions that were aborted, and their
     * markers.
     */
    boolean continuesAt(long offset) {
        return reached() == offset || rows.isEmpty() && until == offset && reached() > offset;
    }

    /** Whether a batch has nothing more of it. */
    boolean isOver() {
        return rows.isEmpty() && reached() >= until;
    }

    boolean isCaughtUp() {
        return isCaughtUp;
    }

    /** Whether few records are here although the broker is known to have more. */
    boolean wantsMore() {
        return !isCaughtUp && records.size() < MAX_RECORDS / 2 && bytes < MAX_BYTES / 2;
    }

    /** Time of the next record, ms; NONE where there is none to hand out now. */
    long recordTime() {
        ConsumerRecord<byte[], byte[]> head = records.peek();
        return head == null || head.offset() >= until ? NONE : head.timestamp();
    }

    ConsumerRecord<byte[], byte[]> takeRecord() {
        ConsumerRecord<byte[], byte[]> record = records.poll();
        bytes -= size(record);
        noted = record.offset() + 1;
        return record;
    }

    /** Time of the next row, ms, for which records are decoded until one gives any; else NONE. */
    long rowTime(TaskReader.Decoder decoder) {
        while (rows.isEmpty()) {
            if (recordTime() == NONE) {
                return NONE;
            }
            ConsumerRecord<byte[], byte[]> record = takeRecord();
            decoded = record.offset();
            isPartlyHandedOut = false;
            long sent = streamTime(record);
            decoder.decode(
                    input,
                    record,
                    (time, row) -> {
                        times.add(Math.max(time, sent));
                        rows.add(row);
                    });
        }
        return times.peek();
    }

    InternalRow takeRow() {
        isPartlyHandedOut = true;
        times.poll();
        return rows.poll();
    }

    /** Whether more rows of a record must be handed out before a batch can end. */
    boolean isPartlyHandedOut() {
        return isPartlyHandedOut && !rows.isEmpty();
    }

    void add(List<ConsumerRecord<byte[], byte[]>> found) {
        shortSince = NEVER;
        records.addAll(found);
        found.forEach(record -> bytes += size(record));
    }

    /** Fetch it, or do not, as there is room for more. */
    void pauseOrResume() {
        pause(archive != null || isFull());
    }

    private boolean isFull() {
        return records.size() >= MAX_RECORDS || bytes >= MAX_BYTES;
    }

    private void pause(boolean isWanted) {
        if (isWanted != isPaused) {
            if (isWanted) {
                consumer.pause(List.of(partition));
            } else {
                consumer.resume(List.of(partition));
            }
            isPaused = isWanted;
        }
    }

    /** Find out whether the broker is known to have more of what is empty here. */
    void lookForMore() {
        if (!records.isEmpty() && records.peek().offset() < until) {
            isCaughtUp = false;
            return;
        }
        if (until < Long.MAX_VALUE || archive != null) {
            noted = reached();
            isCaughtUp = noted >= until;
            return;
        }
        long position = consumer.position(partition);
        noted = position;
        OptionalLong lag = consumer.currentLag(partition);
        isCaughtUp = lag.isPresent() ? lag.getAsLong() <= 0 : position >= end;
    }

    /**
     * A batch ends here where the topic turns out to end before the batch does, and stays so: it
     * was deleted and made again, or the broker lost its records.
     *
     * @param end where the topic ends now
     * @param now on a clock that nobody sets, ms
     * @return how many offsets the batch is shorter by, now
     */
    long shortenTo(long end, long now) {
        long position = position();
        if (end > position || position >= until) {
            shortSince = NEVER;
            return 0;
        }
        if (shortSince == NEVER) {
            shortSince = now;
        }
        if (now - shortSince < SHORT_MS) {
            return 0;
        }
        long missing = until - position;
        until = position;
        lookForMore();
        return missing;
    }

    /**
     * Whether an offset that the broker has was not handed out yet. Where it stays so, the topic
     * was made again, and the offset is not believed any more.
     *
     * @param now on a clock that nobody sets, ms
     */
    boolean isBehind(long offset, long now) {
        if (reached() > offset) {
            behindSince = NEVER;
            return false;
        }
        if (behindSince == NEVER || !isCaughtUp) {
            behindSince = now;
        }
        return now - behindSince < BEHIND_MS;
    }

    /** Whether there is known to be more than what the batch reads. */
    boolean hasMore() {
        return !records.isEmpty()
                || archive != null
                || consumer.currentLag(partition).orElse(0) > 0;
    }

    /**
     * Stream time, ms, of the sub-topology that wrote a record, when it did; else the lowest
     * number.
     */
    private static long streamTime(ConsumerRecord<byte[], byte[]> record) {
        Header header = record.headers().lastHeader(STREAM_TIME);
        return header == null ? Long.MIN_VALUE : ByteBuffer.wrap(header.value()).getLong();
    }

    private static long size(ConsumerRecord<byte[], byte[]> record) {
        return 100L
                + Math.max(record.serializedKeySize(), 0)
                + Math.max(record.serializedValueSize(), 0);
    }
}
