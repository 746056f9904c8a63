package org.ksqlspark.kafka;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.ksqlspark.internals.kafka.KafkaSource;
import org.ksqlspark.internals.kafka.MatchedTopics;
import org.ksqlspark.internals.kafka.SharedAdmin;
import org.ksqlspark.state.KeptCaches;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Spark's Kafka source for streams, read as tasks of Kafka Streams read, and with batches that can
 * be ended from outside.
 *
 * <p>Spark's source plans what is to be read, and merges and stores offsets. What it planned is
 * regrouped: one {@link TaskPartition} for each task, read by a {@link TaskReader}.
 *
 * <p>A real-time batch lasts as long as its trigger says, and StreamingQuery.stop() discards its
 * work; but its output is in the sink by then, and is written again after a restart. {@link #drain}
 * makes the readers of a query report the end of their data at once. So the batch finishes and is
 * committed like any other, the batches after it are empty, and the query can be stopped without
 * repeating work. In micro-batches, the source reports no new offsets after drain.
 *
 * <p>Options: "ksql.run" names the run of a query, for drain and release; the others are those of
 * {@link TaskOptions}.
 */
public final class DrainableSource implements TableProvider {
    /** Spark's local property with the number of the batch. */
    static final String BATCH_ID = "streaming.sql.batchId";

    private final TableProvider kafka = KafkaSource.provider();

    /**
     * Drains a run: its readers read nothing from now on.
     *
     * @return the last batch that may have read something; the run is drained once it is committed.
     *     -1 if there was none.
     */
    public static long drain(String run) {
        return QueryRun.of(run).drain();
    }

    /**
     * Whether a run in micro-batches has finished the batch that was running, or planned, when
     * draining began.
     */
    public static boolean isDrained(String run) {
        return QueryRun.of(run).isDrained();
    }

    /** Ends the batch in real time of a run, so that the next one finds topics that are new. */
    public static void endBatch(String run) {
        QueryRun.of(run).endBatch();
    }

    /** Forgets a run that was stopped, and how far it got with the internal topic that it wrote. */
    public static void release(String run, String feeds) {
        QueryRun.release(run);
        QueryProducer.release(run);
        KeptCaches.release(run);
        if (!feeds.isEmpty()) {
            Frontier.forget(feeds);
        }
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return kafka.inferSchema(options);
    }

    @Override
    public Table getTable(
            StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Topics((SupportsRead) kafka.getTable(schema, partitioning, properties));
    }

    private record Topics(SupportsRead table) implements SupportsRead {
        @Override
        public String name() {
            return table.name();
        }

        @Override
        public Column[] columns() {
            return table.columns();
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () ->
                    new TopicScan(table.newScanBuilder(options).build(), TaskOptions.of(options));
        }
    }

    private record TopicScan(Scan scan, TaskOptions options) implements Scan {
        @Override
        public StructType readSchema() {
            return scan.readSchema();
        }

        @Override
        public String description() {
            return scan.description();
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new Stream<>(scan.toMicroBatchStream(checkpoint), options);
        }

        @Override
        public CustomMetric[] supportedCustomMetrics() {
            return scan.supportedCustomMetrics();
        }

        @Override
        public CustomTaskMetric[] reportDriverMetrics() {
            return scan.reportDriverMetrics();
        }
    }

    /**
     * The stream of a scan; a class, not a record, because Spark's own equals only itself. It
     * reports no metrics: for these Spark's stream asks the brokers at the end of a batch, while
     * records wait.
     */
    private static final class Stream<
                    S extends MicroBatchStream & SupportsAdmissionControl & SupportsRealTimeMode>
            implements MicroBatchStream, SupportsAdmissionControl, SupportsRealTimeMode {
        private final S stream;
        private final TaskOptions options;
        private final QueryRun run;

        /**
         * Whether Spark's stream has looked up a latest offset; before that it cannot report one.
         */
        private boolean hasLatest;

        @SuppressWarnings("unchecked")
        Stream(MicroBatchStream stream, TaskOptions options) {
            this.stream = (S) stream;
            SharedAdmin.give(stream);
            if (!options.pattern().isEmpty()) {
                MatchedTopics.give(stream, options.pattern(), options.never());
            }
            this.options = options;
            this.run = QueryRun.of(options.run(), options.batchMs());
        }

        @Override
        public void prepareForRealTimeMode() {
            stream.prepareForRealTimeMode();
        }

        @Override
        public InputPartition[] planInputPartitions(Offset start) {
            String batch = SparkContext.getOrCreate().getLocalProperty(BATCH_ID);
            run.begin(Long.parseLong(batch));
            return TaskPartition.regroup(stream.planInputPartitions(start), options);
        }

        @Override
        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            run.beginMicroBatch();
            return TaskPartition.regroup(stream.planInputPartitions(start, end), options);
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return new Readers();
        }

        @Override
        public Offset latestOffset(Offset start, ReadLimit limit) {
            if (!run.isReading(this)) {
                return start;
            }
            hasLatest = true;
            ReadLimit wanted = options.isFirst() ? ReadLimit.allAvailable() : limit;
            Offset latest = stream.latestOffset(start, wanted);
            // further partitions, empty ones too
            KafkaSource.partitions(latest).forEach(options::check);
            return options.until().isEmpty()
                    ? latest
                    : KafkaSource.atMost(start, latest, stream.deserializeOffset(options.until()));
        }

        @Override
        public Offset latestOffset() {
            return stream.latestOffset();
        }

        @Override
        public Offset reportLatestOffset() {
            return hasLatest ? stream.reportLatestOffset() : null;
        }

        @Override
        public ReadLimit getDefaultReadLimit() {
            return stream.getDefaultReadLimit();
        }

        @Override
        public Offset mergeOffsets(PartitionOffset[] offsets) {
            return stream.mergeOffsets(TaskOffsets.flat(offsets));
        }

        @Override
        public Offset initialOffset() {
            return stream.initialOffset();
        }

        @Override
        public Offset deserializeOffset(String json) {
            return stream.deserializeOffset(json);
        }

        @Override
        public void commit(Offset end) {
            stream.commit(end);
        }

        @Override
        public void stop() {
            stream.stop();
        }

        @Override
        public String toString() {
            return stream.toString();
        }
    }

    private record Readers() implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            return TaskReader.of(List.of((TaskPartition) partition));
        }
    }
}
