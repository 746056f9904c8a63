package org.ksqlspark.internals.task;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock$;
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec;
import org.apache.spark.sql.internal.connector.PartitionOffsetWithIndex;
import org.apache.spark.util.CollectionAccumulator;
import org.ksqlspark.kafka.TaskPartition;
import org.ksqlspark.kafka.TaskReader;

import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import java.util.ArrayList;
import java.util.List;

/**
 * A scan whose task reads nothing itself: it passes on the records that {@link MergedTask} gives
 * it. The original scan stays below and is never executed; there Spark looks for offsets and
 * metrics.
 */
final class MergeScanExec extends SparkPlan {
    private final DataSourceV2ScanExecBase scan;

    MergeScanExec(DataSourceV2ScanExecBase scan) {
        this.scan = scan;
    }

    @Override
    public RDD<InternalRow> doExecute() {
        List<TaskPartition> parts = new ArrayList<>();
        CollectionConverters.asJava(scan.inputPartitions())
                .forEach(part -> parts.add((TaskPartition) part));
        long end = TaskReader.NO_DEADLINE;
        CollectionAccumulator<PartitionOffsetWithIndex> offsets = null;
        if (scan instanceof RealTimeStreamScanExec realTime) {
            end = LowLatencyClock$.MODULE$.getTimeMillis() + realTime.batchDurationMs();
            offsets = realTime.endOffsetsAccumulator();
        }
        return new MergeScanRdd(
                sparkContext(), parts, end, offsets, plan().longMetric("numOutputRows"));
    }

    private SparkPlan plan() {
        return (SparkPlan) scan;
    }

    @Override
    public Seq<SparkPlan> children() {
        return Plans.seq(List.of(plan()));
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
        return new MergeScanExec(
                (DataSourceV2ScanExecBase) CollectionConverters.asJava(children).get(0));
    }

    /**
     * Another plan: the scan below is equal to its canonical form, and what is canonical never
     * runs.
     */
    @Override
    public SparkPlan doCanonicalize() {
        return new MergeScanExec(scan);
    }

    @Override
    public Seq<Attribute> output() {
        return plan().output();
    }

    @Override
    public int productArity() {
        return 0;
    }

    @Override
    public Object productElement(int n) {
        throw new IndexOutOfBoundsException(n);
    }

    @Override
    public boolean canEqual(Object other) {
        return other == this;
    }
}
