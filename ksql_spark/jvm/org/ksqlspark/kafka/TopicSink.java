package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.ksqlspark.formats.Unwritable;
import org.ksqlspark.log.ProcessingLog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Spark's sink for a Kafka topic, with the record's timestamp as a column and a producer of the
 * query's own ({@link QueryProducer}).
 *
 * <p>Columns: key BINARY, value BINARY, time BIGINT (ms; NULL or negative: the time of writing),
 * and where they are there headers ARRAY&lt;STRUCT&lt;key STRING, value BINARY&gt;&gt; and
 * partition INT.
 *
 * <p>Options: "topic"; "ksql.run", the id of the run, for {@link DrainableSource#release};
 * "ksql.feeds", if the next sub-topology reads the topic; "ksql.log" and "ksql.query" for the
 * processing log; "kafka." and a setting of Kafka's producers; {@link TopicRules}; "ksql.opened",
 * whether the run has been given a producer before it started; "ksql.collected", where that
 * producer is not in the JVM of the tasks: the most bytes of a batch that they hand back to it, 0
 * for any number ({@link CollectedRecords}).
 */
public final class TopicSink implements TableProvider {
    private static final String SETTING = "kafka.";

    /** Tasks send their records themselves. */
    private static final long NOT_COLLECTED = -1;

    /** Headers that say how the bytes of a record are read: not of those that are written here. */
    private static final Set<String> SCHEMA_IDS = Set.of("__key_schema_id", "__value_schema_id");

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return new StructType();
    }

    @Override
    public Table getTable(
            StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Topic();
    }

    private record Topic() implements SupportsWrite {
        @Override
        public String name() {
            return "KafkaTable"; // by this name Spark knows that progress may be tracked apart
        }

        @Override
        public StructType schema() {
            return new StructType();
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(
                    TableCapability.STREAMING_WRITE,
                    TableCapability.BATCH_WRITE,
                    TableCapability.ACCEPT_ANY_SCHEMA);
        }

        @Override
        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            return new Builder(info);
        }
    }

    private record Builder(LogicalWriteInfo info) implements SupportsStreamingUpdateAsAppend {
        @Override
        public Write build() {
            CaseInsensitiveStringMap options = info.options();
            Map<String, String> settings = new HashMap<>();
            options.asCaseSensitiveMap()
                    .forEach(
                            (name, value) -> {
                                if (name.toLowerCase(Locale.ROOT).startsWith(SETTING)) {
                                    settings.put(name.substring(SETTING.length()), value);
                                }
                            });
            Writers writers =
                    new Writers(
                            options.get("topic"),
                            options.get("ksql.run"),
                            options.getOrDefault("ksql.feeds", ""),
                            options.getOrDefault("ksql.log", ""),
                            options.getOrDefault("ksql.query", ""),
                            options.getBoolean("ksql.opened", false),
                            options.getLong("ksql.collected", NOT_COLLECTED),
                            settings,
                            TopicRules.of(options),
                            info.schema().fieldNames());
            return new Write() {
                @Override
                public StreamingWrite toStreaming() {
                    return new Batches(writers);
                }

                @Override
                public BatchWrite toBatch() {
                    return new OneBatch(writers);
                }
            };
        }
    }

    private record Batches(Writers writers) implements StreamingWrite {
        @Override
        public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            writers.producer().begin();
            return writers;
        }

        @Override
        public boolean useCommitCoordinator() {
            // a task that writes again is what "at least once" allows; in a transaction none does:
            // in one JVM Spark tries a task once, without speculation, and in executors tasks do
            // not write
            return false;
        }

        /**
         * All tasks are done. What they have handed back goes into the transaction, which is
         * committed later, with Spark's own commit of the batch.
         */
        @Override
        public void commit(long epoch, WriterCommitMessage[] messages) {
            if (writers.isCollected()) {
                QueryProducer producer = writers.producer();
                for (int i = 0; i < messages.length; i++) {
                    ((CollectedRecords) messages[i]).forEach(writers.topic, producer::send);
                    messages[i] = null; // nobody needs it any more, and it may be large
                }
                producer.flush();
            }
        }

        @Override
        public void abort(long epoch, WriterCommitMessage[] messages) {}
    }

    private record OneBatch(Writers writers) implements BatchWrite {
        @Override
        public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            return writers;
        }

        @Override
        public boolean useCommitCoordinator() {
            return false;
        }

        @Override
        public void commit(WriterCommitMessage[] messages) {
            QueryProducer.release(writers.run);
        }

        @Override
        public void abort(WriterCommitMessage[] messages) {
            QueryProducer.release(writers.run);
        }
    }

    private record Writers(
            String topic,
            String run,
            String feeds,
            String log,
            String query,
            boolean isOpened,
            long collected,
            Map<String, String> settings,
            TopicRules rules,
            String[] names)
            implements StreamingDataWriterFactory, DataWriterFactory {
        boolean isCollected() {
            return collected != NOT_COLLECTED;
        }

        QueryProducer producer() {
            QueryProducer found =
                    isOpened
                            ? QueryProducer.of(run)
                            : QueryProducer.of(run, settings, log, query, feeds);
            return found.failingOnRefusal(rules.failsOnRefusal());
        }

        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
            return createWriter(partition, task);
        }

        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            Output output =
                    isCollected() ? new CollectedRecords.Collector(collected) : sent(producer());
            return new Writer(topic, output, log, query, rules, Arrays.asList(names));
        }

        private static Output sent(QueryProducer producer) {
            return new Output() {
                @Override
                public void send(ProducerRecord<byte[], byte[]> record) {
                    producer.send(record);
                }

                @Override
                public WriterCommitMessage commit() {
                    producer.flush();
                    return new Delivered();
                }
            };
        }
    }

    private record Delivered() implements WriterCommitMessage {}

    private static final class Writer implements DataWriter<InternalRow> {
        private final String topic;
        private final Output output;
        private final String log;
        private final String query;
        private final Traffic traffic;
        private final TopicRules rules;
        private final int key;
        private final int value;
        private final int time;
        private final int headers;
        private final int partition;

        Writer(
                String topic,
                Output output,
                String log,
                String query,
                TopicRules rules,
                List<String> names) {
            this.topic = topic;
            this.output = output;
            this.log = log;
            this.query = query;
            this.traffic = log.isEmpty() ? null : Traffic.of(log, query);
            this.rules = rules;
            key = names.indexOf("key");
            value = names.indexOf("value");
            time = names.indexOf("time");
            headers = names.indexOf("headers");
            partition = names.indexOf("partition");
        }

        @Override
        public void write(InternalRow row) {
            byte[] keyBytes = row.isNullAt(key) ? null : row.getBinary(key);
            byte[] valueBytes = row.isNullAt(value) ? null : row.getBinary(value);
            if (isUnwritable("key", keyBytes) || isUnwritable("value", valueBytes)) {
                return;
            }
            Long at = row.isNullAt(time) || row.getLong(time) < 0 ? null : row.getLong(time);
            Integer to = partition < 0 || row.isNullAt(partition) ? null : row.getInt(partition);
            ProducerRecord<byte[], byte[]> record =
                    new ProducerRecord<>(
                            topic,
                            to,
                            at,
                            keyBytes,
                            valueBytes,
                            headers < 0 || row.isNullAt(headers)
                                    ? null
                                    : headers(row.getArray(headers)));
            long now = System.currentTimeMillis();
            if (at != null && traffic != null) {
                traffic.timed(at, now);
            }
            String refusal = rules.refusal(record, now);
            if (refusal == null) {
                output.send(record);
            } else if (rules.failsOnRefusal() || log.isEmpty()) {
                throw new IllegalStateException("a record could not be written: " + refusal);
            } else {
                QueryProducer.leaveOut(log, query, topic, refusal);
            }
        }

        /**
         * Whether a record is left out, since its row does not fit a schema; that is reported.
         *
         * @throws IllegalStateException so it is, and there is no processing log
         */
        private boolean isUnwritable(String target, byte[] bytes) {
            String reason = Unwritable.reason(bytes);
            if (reason == null) {
                return false;
            }
            if (log.isEmpty()) {
                throw new IllegalStateException("a record could not be written: " + reason);
            }
            ProcessingLog.of(log).unwritable(query, "KsqlTopic.Sink", target, topic, reason);
            return true;
        }

        private static List<Header> headers(ArrayData all) {
            List<Header> made = new ArrayList<>(all.numElements());
            for (int i = 0; i < all.numElements(); i++) {
                InternalRow one = all.getStruct(i, 2);
                String name = one.getString(0);
                if (!SCHEMA_IDS.contains(name)) {
                    made.add(new RecordHeader(name, one.isNullAt(1) ? null : one.getBinary(1)));
                }
            }
            return made;
        }

        @Override
        public WriterCommitMessage commit() {
            return output.commit();
        }

        @Override
        public void abort() {}

        @Override
        public void close() {}
    }
}
