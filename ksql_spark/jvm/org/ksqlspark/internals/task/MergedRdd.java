package org.ksqlspark.internals.task;

import org.apache.spark.Dependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

import java.util.ArrayList;
import java.util.List;

/** Task i of several inputs as one; see {@link MergedTask}. */
final class MergedRdd extends RDD<InternalRow> {
    private final int tasks;
    private final List<String> names;
    private final DataType[] types;
    private final long heartbeatMs;
    private final String heartbeatTasks;

    MergedRdd(
            SparkContext context,
            List<RDD<InternalRow>> inputs,
            List<String> names,
            DataType[] types,
            long heartbeatMs,
            String heartbeatTasks) {
        super(context, dependencies(inputs), ClassTag$.MODULE$.apply(InternalRow.class));
        this.tasks = inputs.get(0).getNumPartitions();
        this.names = names;
        this.types = types;
        this.heartbeatMs = heartbeatMs;
        this.heartbeatTasks = heartbeatTasks;
        for (RDD<InternalRow> input : inputs) {
            if (input.getNumPartitions() != tasks) {
                throw new IllegalStateException(
                        "inputs with "
                                + tasks
                                + " and "
                                + input.getNumPartitions()
                                + " tasks cannot be merged");
            }
        }
    }

    private static Seq<Dependency<?>> dependencies(List<RDD<InternalRow>> inputs) {
        List<Dependency<?>> all = new ArrayList<>();
        inputs.forEach(input -> all.add(new OneToOneDependency<>(input)));
        return List$.MODULE$.from(CollectionConverters.asScala(all));
    }

    private record Part(int index) implements Partition {}

    @Override
    public Partition[] getPartitions() {
        Partition[] all = new Partition[tasks];
        for (int i = 0; i < tasks; i++) {
            all[i] = new Part(i);
        }
        return all;
    }

    @Override
    @SuppressWarnings("unchecked")
    public Iterator<InternalRow> compute(Partition split, TaskContext task) {
        MergedTask merged = MergedTask.here();
        for (Dependency<?> dependency : CollectionConverters.asJava(dependencies())) {
            RDD<InternalRow> input = (RDD<InternalRow>) dependency.rdd();
            merged.addInput(() -> input.iterator(input.partitions()[split.index()], task));
        }
        return merged.start(names, types, heartbeatMs, heartbeatTasks);
    }
}
