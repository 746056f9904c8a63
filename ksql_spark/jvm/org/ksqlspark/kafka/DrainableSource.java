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
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Spark's Kafka source for streams, whose running batch can be drained from outside.
 *
 * <p>A real-time batch lasts as long as its trigger says, and StreamingQuery.stop() discards its
 * work; but its output is in the sink by then, and is written again after a restart. {@link #drain}
 * makes the readers of a query report the end of their data at once. So the batch finishes and is
 * committed like any other, the batches after it are empty, and the query can be stopped without
 * repeating work. In micro-batches, the source reports no new offsets after drain.
 *
 * <p>Everything else is delegated to Spark's source. The option "ksql.run" is the id of the run,
 * for drain and release. Draining works only within one JVM.
 */
public final class DrainableSource implements TableProvider {
    /**
     * How long a reader waits for a record before it checks whether it is draining, in ms: as long
     * as the broker lets a fetch wait, so that the check costs an idle query next to nothing.
     */
    private static final long POLL_MS = 500;

    private static final String BATCH_ID = "streaming.sql.batchId";
    private static final Map<String, Run> RUNS = new ConcurrentHashMap<>();

    private final KafkaSourceProvider kafka = new KafkaSourceProvider();

    /** The state of one run of a query. */
    private static final class Run {
        volatile boolean isDraining;

        /** The latest batch whose partitions were planned; -1 before the first. */
        volatile long batch = -1;

        /** How often Spark has asked for offsets since draining began. */
        volatile int offsetRequests;
    }

    /**
     * Drains a run: its readers read nothing from now on.
     *
     * @return the last batch that may have read something; the run is drained once it is committed.
     *     -1 if there was none.
     */
    public static long drain(String run) {
        Run found = known(run);
        found.isDraining = true;
        return found.batch;
    }

    /**
     * Whether a run in micro-batches has finished the batch that was running when draining began. A
     * batch consists of what one round of requests for offsets returned, and draining may begin in
     * the middle of a round.
     */
    public static boolean isDrained(String run) {
        return known(run).offsetRequests >= 2;
    }

    /** Removes what is known of a run that was stopped. */
    public static void release(String run) {
        RUNS.remove(run);
    }

    private static Run known(String run) {
        return RUNS.computeIfAbsent(run, name -> new Run());
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
                    new TopicScan(table.newScanBuilder(options).build(), options.get("ksql.run"));
        }
    }

    private record TopicScan(Scan scan, String run) implements Scan {
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
            return new Stream<>(scan.toMicroBatchStream(checkpoint), run);
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

    /** The stream of a scan; a class, not a record, because Spark's own equals only itself. */
    private static final class Stream<
                    S extends
                            MicroBatchStream & SupportsAdmissionControl & SupportsRealTimeMode
                                    & ReportsSourceMetrics>
            implements MicroBatchStream,
                    SupportsAdmissionControl,
                    SupportsRealTimeMode,
                    ReportsSourceMetrics {
        private final S stream;
        private final String name;
        private final Run run;

        @SuppressWarnings("unchecked")
        Stream(MicroBatchStream stream, String name) {
            this.stream = (S) stream;
            this.name = name;
            this.run = known(name);
        }

        @Override
        public void prepareForRealTimeMode() {
            stream.prepareForRealTimeMode();
        }

        @Override
        public InputPartition[] planInputPartitions(Offset start) {
            String batch = SparkContext.getOrCreate().getLocalProperty(BATCH_ID);
            run.batch = Math.max(run.batch, Long.parseLong(batch));
            return stream.planInputPartitions(start);
        }

        @Override
        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            return stream.planInputPartitions(start, end);
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return new Readers(stream.createReaderFactory(), name);
        }

        @Override
        public Offset latestOffset(Offset start, ReadLimit limit) {
            if (run.isDraining) {
                run.offsetRequests++; // only by the query's thread
                return start;
            }
            return stream.latestOffset(start, limit);
        }

        @Override
        public Offset latestOffset() {
            return stream.latestOffset();
        }

        @Override
        public Offset reportLatestOffset() {
            return stream.reportLatestOffset();
        }

        @Override
        public ReadLimit getDefaultReadLimit() {
            return stream.getDefaultReadLimit();
        }

        @Override
        public Offset mergeOffsets(PartitionOffset[] offsets) {
            return stream.mergeOffsets(offsets);
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
        public Map<String, String> metrics(Optional<Offset> latestConsumed) {
            return stream.metrics(latestConsumed);
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

    private record Readers(PartitionReaderFactory factory, String run)
            implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            var reader = (SupportsRealTimeRead<InternalRow>) factory.createReader(partition);
            return new Reader(reader, known(run));
        }
    }

    private record Reader(SupportsRealTimeRead<InternalRow> reader, Run run)
            implements SupportsRealTimeRead<InternalRow> {
        @Override
        public RecordStatus nextWithTimeout(Long start, Long timeout) throws IOException {
            for (long left = timeout; left > 0 && !run.isDraining; left -= POLL_MS) {
                RecordStatus status = reader.nextWithTimeout(start, Math.min(left, POLL_MS));
                if (status.hasRecord()) {
                    return status;
                }
            }
            return RecordStatus.newStatusWithoutArrivalTime(false);
        }

        @Override
        public PartitionOffset getOffset() {
            return reader.getOffset();
        }

        @Override
        public boolean next() throws IOException {
            return reader.next();
        }

        @Override
        public InternalRow get() {
            return reader.get();
        }

        @Override
        public CustomTaskMetric[] currentMetricsValues() {
            return reader.currentMetricsValues();
        }

        @Override
        @SuppressWarnings("deprecation") // Spark still calls it
        public void initMetricsValues(CustomTaskMetric[] metrics) {
            reader.initMetricsValues(metrics);
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}
