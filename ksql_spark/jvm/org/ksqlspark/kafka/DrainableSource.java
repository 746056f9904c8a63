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
 * Spark's Kafka source for streams, with one thing more: the batch that runs can be ended from
 * outside.
 *
 * <p>A real-time batch lasts as long as its trigger says, and StreamingQuery.stop() throws away
 * what it has done; its outputs are in the sink by then and come a second time after a restart.
 * {@link #drain} lets the readers of a query report the end of their data at once instead of at the
 * end of the batch's time. So the batch finishes and is committed as any other, those that follow
 * it are empty, and the query can be stopped without a trace. In micro-batches, no more offsets are
 * given out.
 *
 * <p>All work is Spark's own source's. The option "ksql.run" names the run of a query, for drain
 * and release. Readers learn of the end in the same JVM only.
 */
public final class DrainableSource implements TableProvider {
    /**
     * For how long a reader waits for a record before it looks whether it is to end, in ms: as long
     * as the broker lets a fetch wait, so that looking costs an idle query next to nothing.
     */
    private static final long LOOK_MS = 500;

    private static final String BATCH_ID = "streaming.sql.batchId";
    private static final Map<String, Run> RUNS = new ConcurrentHashMap<>();

    private final KafkaSourceProvider kafka = new KafkaSourceProvider();

    /** What is known of one run of a query. */
    private static final class Run {
        volatile boolean isDraining;

        /** The latest batch whose partitions were planned; -1 before the first. */
        volatile long batch = -1;

        /** How often offsets were asked for since the end was asked for. */
        volatile int askedSince;
    }

    /**
     * Ends the batch of a run: its readers read nothing from now on.
     *
     * @return the batch that may have read something: what it wrote is safe once it is committed;
     *     -1 where there was none
     */
    public static long drain(String run) {
        Run found = known(run);
        found.isDraining = true;
        return found.batch;
    }

    /**
     * Whether a run in micro-batches has done all that it had begun when draining began: a batch is
     * made of what one round of questions gave, and a round may have been under way.
     */
    public static boolean isDrained(String run) {
        return known(run).askedSince >= 2;
    }

    /** Forgets a run that was stopped. */
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

    /** The stream of a scan; equal to itself alone, as Spark's own. */
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
                run.askedSince++; // by the query's one thread
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
            for (long left = timeout; left > 0 && !run.isDraining; left -= LOOK_MS) {
                RecordStatus status = reader.nextWithTimeout(start, Math.min(left, LOOK_MS));
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
        @SuppressWarnings("deprecation") // Spark calls it still
        public void initMetricsValues(CustomTaskMetric[] metrics) {
            reader.initMetricsValues(metrics);
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}
