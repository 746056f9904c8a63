package org.ksqlspark.internals.task;

import org.apache.spark.sql.catalyst.optimizer.Optimizer;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.streaming.StreamingQuery;

import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

import java.lang.reflect.Field;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Spark's optimizer of a streaming query, which keeps the plan of the batch before.
 *
 * <p>Spark optimizes the same plan for each batch, and in real time records wait meanwhile: it is
 * the largest part of the pause at a checkpoint. The plans of two batches differ in the batch's
 * number and the sources' offsets, at which no rule looks. Where nothing else differs, these are
 * put into what was made for the batch before.
 */
@SuppressWarnings("deprecation") // Spark still makes a WriteToDataSourceV2 of a streaming write
public final class KeptPlan extends Optimizer {
    private final Optimizer optimizer;
    private final Supplier<StreamExecutionContext> batch;

    /** The plan of the batch before, of no batch in particular, and what was made of it. */
    private LogicalPlan plan;

    private WriteToDataSourceV2 made;

    /**
     * @param batch the context of the batch whose plan is being made
     */
    KeptPlan(Optimizer optimizer, Supplier<StreamExecutionContext> batch, CatalogManager catalogs) {
        super(catalogs);
        this.optimizer = optimizer;
        this.batch = batch;
    }

    /**
     * Lets a query keep its plan; where Spark's session is not as we know it, nothing changes.
     *
     * @param query one that has just been started
     * @return whether it does
     */
    public static boolean keep(StreamingQuery query) {
        if (!(query instanceof StreamingQueryWrapper wrapper)) {
            return false;
        }
        StreamExecution execution = wrapper.streamingQuery();
        SessionState state = execution.sparkSessionForStream().sessionState();
        try {
            Optimizer own = state.optimizer(); // from now on the field has it
            Field field = SessionState.class.getDeclaredField("optimizer");
            field.setAccessible(true);
            field.set(
                    state,
                    new KeptPlan(
                            own,
                            execution::getLatestExecutionContext,
                            state.analyzer().catalogManager()));
            return state.optimizer() instanceof KeptPlan;
        } catch (ReflectiveOperationException isOther) {
            return false;
        }
    }

    @Override
    public synchronized LogicalPlan execute(LogicalPlan next) {
        if (!(next instanceof WriteToMicroBatchDataSource write) || !isOfStreams(write)) {
            return optimizer.execute(next);
        }
        forgetBatchBefore();
        LogicalPlan key = ofNoBatch(write);
        if (made != null && key.equals(plan)) {
            return ofBatch(write);
        }
        LogicalPlan result = optimizer.execute(next);
        made =
                result instanceof WriteToDataSourceV2 found
                                && found.batchWrite() instanceof MicroBatchWrite
                        ? found
                        : null;
        plan = key;
        return result;
    }

    /**
     * Spark keeps the context of the batch before for as long as this one runs, and all of its
     * plans with it, which it looks at only to decide whether this one is needed.
     */
    private void forgetBatchBefore() {
        if (batch.get() instanceof MicroBatchExecutionContext now
                && now.previousContext().isDefined()) {
            now.previousContext().get().executionPlan_$eq(null);
        }
    }

    /**
     * Whether nothing but the offsets can be new in a batch: no time of now, and no other source.
     */
    private static boolean isOfStreams(WriteToMicroBatchDataSource write) {
        return write.batchId().isDefined()
                && !write.containsPattern(TreePattern.CURRENT_LIKE())
                && CollectionConverters.asJava(write.collectLeaves()).stream()
                        .allMatch(
                                leaf ->
                                        leaf instanceof StreamingDataSourceV2ScanRelation
                                                || leaf instanceof LocalRelation);
    }

    private static LogicalPlan ofNoBatch(WriteToMicroBatchDataSource write) {
        return withScans(
                write.copy(
                        write.relation(),
                        write.query(),
                        write.queryId(),
                        write.writeOptions(),
                        write.outputMode(),
                        Option.empty()),
                scan -> with(scan, Option.empty(), Option.empty()));
    }

    private LogicalPlan ofBatch(WriteToMicroBatchDataSource write) {
        Map<SparkDataStream, StreamingDataSourceV2ScanRelation> own = new IdentityHashMap<>();
        withScans(
                write,
                scan -> {
                    own.put(scan.stream(), scan);
                    return scan;
                });
        MicroBatchWrite before = (MicroBatchWrite) made.batchWrite();
        return withScans(
                made.copy(
                        made.relation(),
                        new MicroBatchWrite((Long) write.batchId().get(), before.writeSupport()),
                        made.query(),
                        made.customMetrics()),
                scan -> {
                    StreamingDataSourceV2ScanRelation now = own.get(scan.stream());
                    return with(scan, now.startOffset(), now.endOffset());
                });
    }

    private static StreamingDataSourceV2ScanRelation with(
            StreamingDataSourceV2ScanRelation scan, Option<Offset> start, Option<Offset> end) {
        return scan.copy(scan.relation(), scan.scan(), scan.output(), scan.stream(), start, end);
    }

    private static LogicalPlan withScans(
            LogicalPlan plan, UnaryOperator<StreamingDataSourceV2ScanRelation> change) {
        return plan.transformUp(
                new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
                    @Override
                    public boolean isDefinedAt(LogicalPlan node) {
                        return node instanceof StreamingDataSourceV2ScanRelation;
                    }

                    @Override
                    @SuppressWarnings("unchecked")
                    public <A1 extends LogicalPlan, B1> B1 applyOrElse(
                            A1 node, Function1<A1, B1> otherwise) {
                        return node instanceof StreamingDataSourceV2ScanRelation scan
                                ? (B1) change.apply(scan)
                                : otherwise.apply(node);
                    }
                });
    }
}
