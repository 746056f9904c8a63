package org.ksqlspark.internals.task;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;

import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import java.util.ArrayList;
import java.util.List;

/**
 * The rows of several inputs of a keyed operator in the order of their times, as {@link MergedTask}
 * finds it: task i of all inputs is one task.
 */
final class MergeExec extends SparkPlan {
    private final Seq<SparkPlan> children;
    private final Seq<Attribute> output;
    private final long heartbeatMs;
    private final String heartbeatTasks;

    /**
     * @param output of each input: (task, k, side, ts, v, h), see KeyedOperator
     * @param heartbeatMs see TaskRule.HEARTBEAT_MS
     * @param heartbeatTasks see TaskRule.HEARTBEAT_TASKS
     */
    MergeExec(
            Seq<SparkPlan> children,
            Seq<Attribute> output,
            long heartbeatMs,
            String heartbeatTasks) {
        this.children = children;
        this.output = output;
        this.heartbeatMs = heartbeatMs;
        this.heartbeatTasks = heartbeatTasks;
    }

    @Override
    public RDD<InternalRow> doExecute() {
        List<RDD<InternalRow>> inputs = new ArrayList<>();
        CollectionConverters.asJava(children).forEach(child -> inputs.add(child.execute()));
        List<String> names = new ArrayList<>();
        List<DataType> types = new ArrayList<>();
        for (Attribute attribute : CollectionConverters.asJava(output)) {
            names.add(attribute.name());
            types.add(attribute.dataType());
        }
        return new MergedRdd(
                sparkContext(),
                inputs,
                names,
                types.toArray(new DataType[0]),
                heartbeatMs,
                heartbeatTasks);
    }

    @Override
    public Seq<SparkPlan> children() {
        return children;
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> made) {
        return new MergeExec(made, output, heartbeatMs, heartbeatTasks);
    }

    @Override
    public Seq<Attribute> output() {
        return output;
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
