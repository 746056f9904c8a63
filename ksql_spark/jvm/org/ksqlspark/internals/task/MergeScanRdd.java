package org.ksqlspark.internals.task;

import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.internal.connector.PartitionOffsetWithIndex;
import org.apache.spark.util.CollectionAccumulator;
import org.ksqlspark.kafka.TaskPartition;

import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

import java.util.List;

/** The records of one input, as their turn comes; see {@link MergedTask}. */
final class MergeScanRdd extends RDD<InternalRow> {
    private final List<TaskPartition> parts;

    /** When the batch ends, ms of the epoch; the greatest number in micro-batches. */
    private final long end;

    /** Takes the offsets at the end of a batch in real time. */
    private final CollectionAccumulator<PartitionOffsetWithIndex> offsets;

    private final SQLMetric count;

    MergeScanRdd(
            SparkContext context,
            List<TaskPartition> parts,
            long end,
            CollectionAccumulator<PartitionOffsetWithIndex> offsets,
            SQLMetric count) {
        super(
                context,
                List$.MODULE$.<Dependency<?>>from(
                        CollectionConverters.asScala(List.<Dependency<?>>of())),
                ClassTag$.MODULE$.apply(InternalRow.class));
        this.parts = parts;
        this.end = end;
        this.offsets = offsets;
        this.count = count;
    }

    private record Part(int index, TaskPartition part) implements Partition {}

    @Override
    public Partition[] getPartitions() {
        Partition[] all = new Partition[parts.size()];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Part(i, parts.get(i));
        }
        return all;
    }

    @Override
    public Iterator<InternalRow> compute(Partition split, TaskContext task) {
        return MergedTask.here().scan(((Part) split).part(), end, offsets, count);
    }
}
