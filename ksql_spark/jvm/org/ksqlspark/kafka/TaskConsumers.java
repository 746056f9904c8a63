package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.ksqlspark.internals.kafka.TopicRange;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Fetches a task's partitions, each into its buffer: with one consumer, or with two where two
 * inputs read the same partition. A partition is not fetched while much of it is here.
 */
final class TaskConsumers {
    /** How many records of an archive are read at once. */
    private static final int ARCHIVED = 2000;

    private final List<KafkaConsumer<byte[], byte[]>> consumers = new ArrayList<>();

    /** What each consumer fetches. */
    private final List<Map<TopicPartition, PartitionBuffer>> fetched = new ArrayList<>();

    private final List<PartitionBuffer> buffers = new ArrayList<>();
    private final boolean hasEnd;
    private final Losses losses;

    /** By topic, how it is read: where its archive is, and up to when. */
    private final Map<String, TaskOptions> byTopic = new HashMap<>();

    /** Where what is read is counted; null: nowhere. */
    private final Traffic traffic;

    private boolean haveFailed;

    /**
     * @param inputs what the task reads of each topic
     * @param traffic where what is read is counted; null: nowhere
     */
    TaskConsumers(List<TaskPartition> inputs, Traffic traffic) {
        this.traffic = traffic;
        TaskOptions options = inputs.get(0).options();
        losses = new Losses(options);
        for (TaskPartition input : inputs) {
            input.ranges()
                    .forEach(range -> byTopic.put(range.partition().topic(), input.options()));
        }
        boolean needsEnds = inputs.size() > 1 || options.isOneOrder();
        boolean ends = false;
        for (Share share : shares(inputs)) {
            open(share, inputs, needsEnds, options.maxIdleMs());
            ends |= share.ranges.values().stream().anyMatch(r -> r.until() < Long.MAX_VALUE);
        }
        hasEnd = ends;
    }

    private void open(Share share, List<TaskPartition> inputs, boolean needsEnds, long maxIdleMs) {
        TopicRange any = share.ranges.values().iterator().next();
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(any));
        consumers.add(consumer);
        consumer.assign(share.ranges.keySet());
        share.ranges.forEach((at, range) -> consumer.seek(at, range.from()));
        Map<TopicPartition, Long> ends =
                needsEnds ? consumer.endOffsets(share.ranges.keySet()) : Map.of();
        Map<TopicPartition, PartitionBuffer> own = new HashMap<>();
        share.ranges.forEach(
                (at, range) -> {
                    PartitionBuffer buffer =
                            new PartitionBuffer(
                                    share.inputs.get(at),
                                    at,
                                    consumer,
                                    until(range),
                                    ends.getOrDefault(at, 0L),
                                    inputs.get(share.inputs.get(at)).options().isFirst(),
                                    new IdleWait(maxIdleMs));
                    if (inputs.get(share.inputs.get(at)).options().isArchiveFirst()) {
                        findArchived(buffer, range.from(), Long.MAX_VALUE);
                    }
                    own.put(at, buffer);
                    buffers.add(buffer);
                });
        fetched.add(own);
    }

    /** What one consumer fetches: a partition that two inputs read needs two. */
    private record Share(
            Map<TopicPartition, TopicRange> ranges, Map<TopicPartition, Integer> inputs) {}

    private static List<Share> shares(List<TaskPartition> inputs) {
        List<Share> shares = new ArrayList<>();
        for (int input = 0; input < inputs.size(); input++) {
            for (TopicRange range : inputs.get(input).ranges()) {
                TopicPartition at = range.partition();
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

    private static Map<String, Object> settings(TopicRange range) {
        Map<String, Object> settings = new HashMap<>(range.settings());
        settings.put("auto.offset.reset", "none"); // records that are gone are counted
        settings.putIfAbsent("max.poll.records", "2000");
        // what is on its way can arrive while records are handled: a fetch has up to 1 MiB, and
        // Spark's source sets 64 KiB
        settings.put("receive.buffer.bytes", 2 << 20);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return settings;
    }

    /** Where a batch ends; Long.MAX_VALUE: nowhere, it is in real time. */
    static long until(TopicRange range) {
        return range.until() < 0 ? Long.MAX_VALUE : range.until();
    }

    /** The buffers of all partitions. */
    List<PartitionBuffer> buffers() {
        return buffers;
    }

    /** Whether something is read to an offset only, as in micro-batches. */
    boolean hasEnd() {
        return hasEnd;
    }

    /** Whether a consumer has failed, so that nobody knows where they are. */
    boolean haveFailed() {
        return haveFailed;
    }

    /**
     * Fetches what is there.
     *
     * @param timeout for how long to wait for something, ms
     * @param shortens whether to look, if nothing came, if topics end before the batch does
     */
    void poll(long timeout, boolean shortens) {
        if (consumers.isEmpty()) {
            sleep(timeout);
            return;
        }
        haveFailed = true;
        boolean isEmpty = true;
        try {
            isEmpty = !fetch(timeout);
        } catch (WakeupException batchEnds) {
            // what came before is in its buffers
        }
        if (isEmpty && shortens) {
            shorten();
        }
        haveFailed = false;
        buffers.forEach(PartitionBuffer::lookForMore);
    }

    /** Whether there was something. */
    private boolean fetch(long timeout) {
        boolean isEmpty = !readArchives();
        if (!isEmpty) {
            timeout = 0;
        }
        buffers.forEach(PartitionBuffer::pauseOrResume);
        for (int i = 0; i < consumers.size(); i++) {
            ConsumerRecords<byte[], byte[]> found =
                    poll(consumers.get(i), timeout / consumers.size());
            for (TopicPartition at : found.partitions()) {
                add(fetched.get(i).get(at), found.records(at));
                isEmpty = false;
            }
        }
        return !isEmpty;
    }

    private ConsumerRecords<byte[], byte[]> poll(
            KafkaConsumer<byte[], byte[]> consumer, long timeout) {
        try {
            return consumer.poll(Duration.ofMillis(timeout));
        } catch (OffsetOutOfRangeException gone) {
            Map<TopicPartition, Long> lost = new HashMap<>(gone.offsetOutOfRangePartitions());
            Map<TopicPartition, PartitionBuffer> own = fetched.get(consumers.indexOf(consumer));
            Map<TopicPartition, Long> first = consumer.beginningOffsets(lost.keySet());
            // else the consumer takes the beginning for the end, and knows of no lag there
            consumer.endOffsets(lost.keySet());
            lost.entrySet()
                    .removeIf(
                            place ->
                                    findArchived(
                                            own.get(place.getKey()),
                                            place.getValue(),
                                            first.get(place.getKey())));
            losses.skip(consumer, lost, first);
            return ConsumerRecords.empty();
        }
    }

    /**
     * Whether an archive has records that are read there, before those of the topic.
     *
     * @param begin the first offset that the topic has
     */
    private boolean findArchived(PartitionBuffer buffer, long from, long begin) {
        TaskOptions options = byTopic.get(buffer.partition.topic());
        if (options.archive().isEmpty() || begin <= from) {
            return false;
        }
        Archive found =
                Archive.open(options.archive(), options.archived(), buffer.partition, from, begin);
        if (found != null) {
            buffer.readFirst(found);
        }
        return found != null;
    }

    /** Whether archives had something to read. */
    private boolean readArchives() {
        boolean hasRead = false;
        for (PartitionBuffer buffer : buffers) {
            List<ConsumerRecord<byte[], byte[]>> found = buffer.readArchive(ARCHIVED);
            if (!found.isEmpty()) {
                hasRead = true;
                add(buffer, found);
            }
        }
        return hasRead;
    }

    private void add(PartitionBuffer buffer, List<ConsumerRecord<byte[], byte[]>> found) {
        String topic = buffer.partition.topic();
        buffer.add(new Timestamps(byTopic.get(topic)).readable(found));
        if (traffic != null) {
            traffic.read(topic, found);
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

    /** Ends the wait for records, from any thread. */
    void wakeUp() {
        consumers.forEach(KafkaConsumer::wakeup);
    }

    void close() {
        buffers.forEach(PartitionBuffer::close);
        consumers.forEach(consumer -> consumer.close(CloseOptions.timeout(Duration.ZERO)));
    }
}
