package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

import scala.collection.immutable.Seq;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Catalyst's aggregate functions, driven one record at a time on a buffer that is kept as bytes.
 *
 * <p>Does for a keyed operator what Spark's own aggregation does for a batch: initialise, update,
 * merge, evaluate, with the functions' own expressions. Not thread-safe once opened: one for each
 * task.
 */
final class Aggregator implements Serializable {
    private final Attribute[] input;
    private final Expression[] functions;
    private final Attribute[] results;
    private final Expression[] output;

    private transient Attribute[] buffer;
    private transient SpecificInternalRow row;
    private transient MutableProjection initial;
    private transient MutableProjection update;
    private transient MutableProjection merging;
    private transient MutableProjection evaluate;
    private transient UnsafeProjection finish;
    private transient UnsafeProjection pack;
    private transient int[] offsets;
    private transient ImperativeAggregate[] imperative;
    private transient JoinedRow joined;

    private Aggregator(
            Attribute[] input, Expression[] functions, Attribute[] results, Expression[] output) {
        this.input = input;
        this.functions = functions;
        this.results = results;
        this.output = output;
    }

    /**
     * The aggregates of a frame that is one global aggregation over a frame of the input's columns.
     */
    static Aggregator of(Dataset<Row> template) {
        LogicalPlan plan = template.queryExecution().optimizedPlan();
        while (!(plan instanceof org.apache.spark.sql.catalyst.plans.logical.Aggregate)) {
            List<LogicalPlan> children = list(plan.children());
            if (children.size() != 1) {
                throw new IllegalArgumentException("not an aggregation: " + plan);
            }
            plan = children.get(0);
        }
        scala.Tuple4<
                        Seq<NamedExpression>,
                        Seq<AggregateExpression>,
                        Seq<NamedExpression>,
                        LogicalPlan>
                parts = PhysicalAggregation.unapply(plan).get();
        List<Expression> functions = new ArrayList<>();
        List<Attribute> results = new ArrayList<>();
        for (AggregateExpression call : list(parts._2())) {
            if (call.isDistinct() || call.filter().isDefined()) {
                throw new IllegalArgumentException("DISTINCT and FILTER are not for streams");
            }
            functions.add(call.aggregateFunction());
            results.add(call.resultAttribute());
        }
        List<Expression> output = new ArrayList<>();
        for (NamedExpression named : list(parts._3())) {
            output.add((Expression) named);
        }
        return new Aggregator(
                input(parts._4()),
                functions.toArray(new Expression[0]),
                results.toArray(new Attribute[0]),
                output.toArray(new Expression[0]));
    }

    /**
     * The columns of the frame below, in their order: those of packed rows; the plan names only
     * what it needs.
     */
    private static Attribute[] input(LogicalPlan child) {
        LogicalPlan plan = child;
        while (!list(plan.children()).isEmpty()) {
            for (Attribute column : list(plan.output())) {
                if (list(list(plan.children()).get(0).output()).stream()
                        .noneMatch(below -> below.exprId().equals(column.exprId()))) {
                    throw new IllegalArgumentException("computed below the aggregates: " + column);
                }
            }
            plan = list(plan.children()).get(0);
        }
        return list(plan.output()).toArray(new Attribute[0]);
    }

    /** Make ready for use in this task. */
    void open() {
        List<Attribute> slots = new ArrayList<>();
        List<Attribute> others = new ArrayList<>();
        List<Expression> initials = new ArrayList<>();
        List<Expression> updates = new ArrayList<>();
        List<Expression> merges = new ArrayList<>();
        List<Expression> values = new ArrayList<>();
        offsets = new int[functions.length];
        imperative = new ImperativeAggregate[functions.length];
        for (int i = 0; i < functions.length; i++) {
            offsets[i] = slots.size();
            if (functions[i] instanceof DeclarativeAggregate declarative) {
                slots.addAll(list(declarative.aggBufferAttributes()));
                others.addAll(list(declarative.inputAggBufferAttributes()));
                initials.addAll(list(declarative.initialValues()));
                updates.addAll(list(declarative.updateExpressions()));
                merges.addAll(list(declarative.mergeExpressions()));
                values.add(declarative.evaluateExpression());
            } else {
                ImperativeAggregate function = (ImperativeAggregate) functions[i];
                List<? extends Attribute> own = list(function.aggBufferAttributes());
                slots.addAll(own);
                others.addAll(list(function.inputAggBufferAttributes()));
                for (int slot = 0; slot < own.size(); slot++) { // the projections leave these alone
                    initials.add(NoOp$.MODULE$);
                    updates.add(NoOp$.MODULE$);
                    merges.add(NoOp$.MODULE$);
                }
                values.add(NoOp$.MODULE$);
                imperative[i] =
                        (ImperativeAggregate)
                                BindReferences.bindReference(
                                        (Expression)
                                                function.withNewMutableAggBufferOffset(offsets[i])
                                                        .withNewInputAggBufferOffset(offsets[i]),
                                        org.apache.spark.sql.catalyst.expressions.package$.MODULE$
                                                .AttributeSeq(seq(List.of(input))),
                                        false);
            }
        }
        buffer = slots.toArray(new Attribute[0]);
        row = emptyBuffer();
        List<Attribute> withInput = new ArrayList<>(slots);
        withInput.addAll(List.of(input));
        List<Attribute> withOther = new ArrayList<>(slots);
        withOther.addAll(others);
        initial = MutableProjection.create(seq(initials), seq(List.of()));
        update = MutableProjection.create(seq(updates), seq(withInput));
        merging = MutableProjection.create(seq(merges), seq(withOther));
        evaluate = MutableProjection.create(seq(values), seq(slots));
        finish = UnsafeProjection.create(seq(List.of(output)), seq(List.of(results)));
        pack = UnsafeProjection.create(types(buffer));
        joined = new JoinedRow();
    }

    private SpecificInternalRow emptyBuffer() {
        return new SpecificInternalRow(types(buffer));
    }

    /** Start a new group. */
    void reset() {
        initial.target(row).apply(InternalRow.empty());
        for (ImperativeAggregate function : imperative) {
            if (function != null) {
                function.initialize(row);
            }
        }
    }

    /** Go on with a group that was saved. */
    void load(byte[] saved) {
        load(saved, row);
    }

    private void load(byte[] saved, SpecificInternalRow target) {
        InternalRow kept = PackedRow.view(saved, buffer.length);
        for (int i = 0; i < buffer.length; i++) {
            DataType type = buffer[i].dataType();
            if (kept.isNullAt(i)) {
                target.setNullAt(i);
            } else {
                Object value = kept.get(i, type);
                target.update(i, InternalRow.copyValue(value));
            }
        }
        for (int i = 0; i < functions.length; i++) {
            if (imperative[i] instanceof TypedImperativeAggregate<?> typed) {
                target.update(offsets[i], typed.deserialize(kept.getBinary(offsets[i])));
            }
        }
    }

    /** Take one packed input row in. */
    void add(byte[] packed) {
        InternalRow values = PackedRow.view(packed, input.length);
        update.target(row).apply(joined.apply(row, values));
        for (ImperativeAggregate function : imperative) {
            if (function != null) {
                function.update(row, values);
            }
        }
    }

    /** Take another group that was saved in. */
    void merge(byte[] saved) {
        SpecificInternalRow other = emptyBuffer();
        load(saved, other);
        merging.target(row).apply(joined.apply(row, other));
        for (ImperativeAggregate function : imperative) {
            if (function instanceof TypedImperativeAggregate<?> typed) {
                typed.mergeBuffersObjects(row, other);
            } else if (function != null) {
                function.merge(row, other);
            }
        }
    }

    /** The group as bytes. */
    byte[] save() {
        SpecificInternalRow plain = row;
        boolean isTyped = false;
        for (ImperativeAggregate function : imperative) {
            isTyped |= function instanceof TypedImperativeAggregate<?>;
        }
        if (isTyped) { // serialising takes the object's place, but the object may be needed for the
            // result
            plain = emptyBuffer();
            for (int i = 0; i < buffer.length; i++) {
                if (row.isNullAt(i)) {
                    plain.setNullAt(i);
                } else {
                    plain.update(i, row.get(i, buffer[i].dataType()));
                }
            }
            for (ImperativeAggregate function : imperative) {
                if (function instanceof TypedImperativeAggregate<?> typed) {
                    typed.serializeAggregateBufferInPlace(plain);
                }
            }
        }
        return pack.apply(plain).getBytes();
    }

    /** The result's columns, packed. */
    byte[] result() {
        return finished().copy().getBytes(); // the projection writes its next row over this one
    }

    /** Whether the result's last column, a condition, holds. */
    boolean passes() {
        InternalRow done = finished();
        int last = output.length - 1;
        return !done.isNullAt(last) && done.getBoolean(last);
    }

    private UnsafeRow finished() {
        GenericInternalRow values = new GenericInternalRow(functions.length);
        evaluate.target(values).apply(row);
        for (int i = 0; i < functions.length; i++) {
            if (imperative[i] != null) {
                values.update(i, imperative[i].eval(row));
            }
        }
        return finish.apply(values);
    }

    private static StructType types(Attribute[] attributes) {
        StructType types = new StructType();
        for (int i = 0; i < attributes.length; i++) {
            types = types.add("c" + i, attributes[i].dataType());
        }
        return types;
    }

    private static <T> List<T> list(Seq<T> seq) {
        return scala.jdk.javaapi.CollectionConverters.asJava(seq);
    }

    private static <T> Seq<T> seq(List<? extends T> list) {
        Iterable<T> copy = List.copyOf(list);
        return scala.jdk.javaapi.CollectionConverters.asScala(copy).toSeq();
    }
}
