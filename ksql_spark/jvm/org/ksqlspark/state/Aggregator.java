package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionId;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

import scala.Option;
import scala.collection.immutable.Seq;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Function;

/**
 * Catalyst's aggregate functions, applied one record at a time to a buffer that is stored as bytes.
 *
 * <p>It does for a keyed operator what Spark's own aggregation does for a batch: initialize,
 * update, merge, evaluate, with the functions' own expressions. Not thread-safe once opened: each
 * task has its own.
 *
 * <p>A query may be given further aggregates while it has state (ADR 54). Groups that were stored
 * before have only the fields of their time, and go on with the rest empty. Until then a stored
 * group is Spark's binary row, whose length is a multiple of 8; from then on the number of its
 * fields follows, in 4 bytes.
 *
 * <p>Where a function took the place of one of Spark's after release 0.1.0, that number is always
 * there, and negative. Other groups have the fields of Spark's function.
 */
public final class Aggregator implements Serializable {
    private final Attribute[] input;
    private final AggregateFunction[] functions;

    /** For each function, the column that says whether it takes a row; negative: it takes all. */
    private final int[] filters;

    /** For each column of the output, the index after its last function. */
    private final int[] ends;

    private final Attribute[] results;
    private final Expression[] output;

    /** Whether the last column of the output is a condition. */
    private final boolean hasFilter;

    /** How many functions the query began with. */
    private final int first;

    /** How many fields a stored group has that does not say so. */
    private transient int firstFields;

    /** Whether a function took the place of one of Spark's. */
    private transient boolean hasFormer;

    private transient Attribute[] buffer;
    private transient SpecificInternalRow row;

    /** A group that is merged into the row's. */
    private transient SpecificInternalRow other;

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
            Attribute[] input,
            AggregateFunction[] functions,
            int[] filters,
            int[] ends,
            Attribute[] results,
            Expression[] output,
            boolean hasFilter,
            int first) {
        this.input = input;
        this.functions = functions;
        this.filters = filters;
        this.ends = ends;
        this.results = results;
        this.output = output;
        this.hasFilter = hasFilter;
        this.first = first;
    }

    /**
     * The aggregates of a frame that is one global aggregation over a frame with the input's
     * columns.
     *
     * <p>Each column has its own segment of the buffer, in the order of the columns. Order and
     * functions are those of the analyzed plan, so the buffer does not depend on the optimizer,
     * which may merge, reorder or rewrite aggregates.
     *
     * @param hasFilter the last column is a condition. It shares the segments of the other columns,
     *     and has its own segment only for further functions
     * @param appended how many columns, the last ones before the condition, stored groups may lack
     */
    static Aggregator of(Dataset<Row> template, boolean hasFilter, int appended) {
        return of(template.queryExecution().analyzed(), hasFilter, appended);
    }

    static Aggregator of(LogicalPlan analyzed, boolean hasFilter, int appended) {
        LogicalPlan plan = ReplaceExpressions$.MODULE$.apply(analyzed);
        if (!(plan instanceof Aggregate aggregation)) {
            throw new IllegalArgumentException("not an aggregation: " + plan);
        }
        List<Attribute> input = list(aggregation.child().output());
        List<AggregateExpression> calls = new ArrayList<>();
        List<Expression> output = new ArrayList<>();
        List<Integer> ends = new ArrayList<>();
        List<NamedExpression> columns = list(aggregation.aggregateExpressions());
        for (NamedExpression column : columns) {
            boolean isFilter = hasFilter && output.size() == columns.size() - 1;
            if (isFilter && appended > 0) {
                output.add(withoutNames(filter((Expression) column, columns, output)));
            } else {
                int known = isFilter ? 0 : calls.size();
                output.add(withResults((Expression) column, input, calls, known));
            }
            ends.add(calls.size());
        }
        int kept = columns.size() - (hasFilter ? 1 : 0) - appended;
        int first = appended == 0 ? calls.size() : kept == 0 ? 0 : ends.get(kept - 1);
        return new Aggregator(
                input.toArray(new Attribute[0]),
                calls.stream()
                        .map(AggregateExpression::aggregateFunction)
                        .toArray(AggregateFunction[]::new),
                calls.stream().mapToInt(call -> place(call.filter(), input)).toArray(),
                ends.stream().mapToInt(Integer::intValue).toArray(),
                calls.stream().map(AggregateExpression::resultAttribute).toArray(Attribute[]::new),
                output.toArray(new Expression[0]),
                hasFilter,
                first);
    }

    /**
     * A condition on the columns alone. It must not share single functions, as equal ones of
     * columns that came at different times have seen different rows.
     */
    private static Expression filter(
            Expression condition, List<NamedExpression> columns, List<Expression> output) {
        for (int i = 0; i < output.size(); i++) {
            Expression written = ((Alias) columns.get(i)).child();
            if (condition.canonicalized().equals(written.canonicalized())) {
                return ((Alias) output.get(i)).child();
            }
        }
        if (condition instanceof AggregateExpression) {
            throw new IllegalArgumentException("not a column's: " + condition);
        }
        return condition.mapChildren(child -> filter(child, columns, output));
    }

    private static int place(Option<Expression> filter, List<Attribute> input) {
        return filter.isEmpty() ? -1 : input.indexOf(filter.get());
    }

    /**
     * An expression in which aggregates are replaced by their results.
     *
     * @param input the columns of the rows
     * @param calls the aggregates so far; new ones are added
     * @param known index of the first call that may be shared with an equal one
     */
    private static Expression withResults(
            Expression expression,
            List<Attribute> input,
            List<AggregateExpression> calls,
            int known) {
        if (expression instanceof With with) { // names for what is used more than once
            Map<CommonExpressionId, Expression> definitions = new HashMap<>();
            for (CommonExpressionDef definition : list(with.defs())) {
                definitions.put(definition.id(), definition.child());
            }
            return withResults(inlined(with.child(), definitions), input, calls, known);
        }
        if (!(expression instanceof AggregateExpression written)) {
            return expression.mapChildren(child -> withResults(child, input, calls, known));
        }
        if (written.isDistinct() || written.filter().isDefined()) {
            throw new IllegalArgumentException("DISTINCT and FILTER are not for streams");
        }
        AggregateExpression call = AggregateFilters.filtered(written, input);
        for (AggregateExpression other : calls.subList(known, calls.size())) {
            if (other.canonicalized().equals(call.canonicalized())) {
                return other.resultAttribute();
            }
        }
        calls.add(call);
        return call.resultAttribute();
    }

    /** An expression in which what {@link With} names is written out. */
    static Expression withoutNames(Expression expression) {
        return withResults(expression, List.of(), new ArrayList<>(), 0);
    }

    private static Expression inlined(
            Expression expression, Map<CommonExpressionId, Expression> definitions) {
        if (expression instanceof CommonExpressionRef reference
                && definitions.containsKey(reference.id())) {
            return definitions.get(reference.id());
        }
        return expression.mapChildren(child -> inlined(child, definitions));
    }

    /**
     * The layout of the buffer: for each column of the template, its functions and the columns that
     * they store.
     */
    public List<String> layout() {
        return segments(Aggregator::described);
    }

    /** The layout of buffers that release 0.1.0 stored, which can be read. */
    public List<String> formerLayout() {
        return segments(
                function -> {
                    StructType former = formerBuffer(function);
                    return former == null ? described(function) : "sum(" + former.toDDL() + ")";
                });
    }

    private List<String> segments(Function<AggregateFunction, String> describe) {
        List<String> segments = new ArrayList<>();
        int next = 0;
        for (int end : ends) {
            StringJoiner segment = new StringJoiner(", ");
            for (; next < end; next++) {
                segment.add(describe.apply(functions[next]));
            }
            segments.add(segment.toString());
        }
        return segments;
    }

    private static String described(AggregateFunction function) {
        String name =
                function instanceof V2Aggregator<?, ?> v2
                        ? v2.aggrFunc().name() + " version " + StateLayout.VERSION
                        : function.prettyName();
        return name + "(" + function.aggBufferSchema().toDDL() + ")";
    }

    private static StructType formerBuffer(AggregateFunction function) {
        StateLayout<Object> layout = stateLayout(function);
        return layout == null ? null : layout.formerBuffer();
    }

    /** The columns of the packed records. */
    StructType columns() {
        StructType columns = new StructType();
        for (Attribute column : input) {
            columns = columns.add(column.name(), column.dataType());
        }
        return columns;
    }

    /** Prepares the aggregator for use in this task. */
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
                List<? extends Attribute> own = list(declarative.aggBufferAttributes());
                slots.addAll(own);
                others.addAll(list(declarative.inputAggBufferAttributes()));
                initials.addAll(list(declarative.initialValues()));
                List<Expression> changes = list(declarative.updateExpressions());
                for (int slot = 0; slot < own.size(); slot++) {
                    Expression change = changes.get(slot);
                    updates.add(
                            filters[i] < 0
                                    ? change
                                    : new If(input[filters[i]], change, own.get(slot)));
                }
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
        firstFields = 0;
        hasFormer = false;
        for (int i = 0; i < functions.length; i++) {
            StructType former = formerBuffer(functions[i]);
            hasFormer |= former != null;
            if (i < first) {
                firstFields += former == null ? width(i) : former.size();
            }
        }
        row = emptyBuffer();
        other = emptyBuffer();
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

    /**
     * How the state of one of our functions is stored; null for Spark's functions, which define it
     * themselves.
     */
    @SuppressWarnings("unchecked")
    private static StateLayout<Object> stateLayout(Object function) {
        return function instanceof V2Aggregator<?, ?> ours
                ? (StateLayout<Object>) ours.aggrFunc()
                : null;
    }

    /** How many fields of the buffer a function has. */
    private int width(int function) {
        int last = functions.length - 1;
        return (function == last ? buffer.length : offsets[function + 1]) - offsets[function];
    }

    private SpecificInternalRow emptyBuffer() {
        return new SpecificInternalRow(types(buffer));
    }

    /** Starts a new group. */
    void reset() {
        reset(row);
    }

    private void reset(SpecificInternalRow target) {
        initial.target(target).apply(InternalRow.empty());
        for (ImperativeAggregate function : imperative) {
            if (function != null) {
                function.initialize(target);
            }
        }
    }

    /** Continues a stored group, in {@code saved} from this place on. */
    void load(byte[] saved, int from) {
        load(saved, from, row);
    }

    private void load(byte[] saved, int from, SpecificInternalRow target) {
        int size = saved.length - from;
        int fields = firstFields;
        boolean isFormer = hasFormer;
        if (size % 8 != 0) {
            size -= Integer.BYTES;
            int number = Platform.getInt(saved, Platform.BYTE_ARRAY_OFFSET + from + size);
            isFormer &= number > 0;
            fields = Math.abs(number);
        }
        UnsafeRow kept = new UnsafeRow(fields);
        kept.pointTo(saved, Platform.BYTE_ARRAY_OFFSET + from, size);
        if (first < functions.length) {
            reset(target);
        }
        int at = 0;
        for (int i = 0; i < functions.length && at < fields; i++) {
            StructType former = isFormer ? formerBuffer(functions[i]) : null;
            if (former != null) {
                target.update(offsets[i], stateLayout(functions[i]).ofFormer(kept, at));
                at += former.size();
                continue;
            }
            load(kept, at, i, target);
            at += width(i);
        }
    }

    /** Continues the state of a function, which begins at a field of a stored row. */
    private void load(UnsafeRow kept, int from, int function, SpecificInternalRow target) {
        if (imperative[function] instanceof TypedImperativeAggregate<?> typed) {
            byte[] state = kept.getBinary(from);
            StateLayout<Object> layout = stateLayout(typed);
            target.update(
                    offsets[function],
                    layout == null ? typed.deserialize(state) : layout.restore(state));
            return;
        }
        for (int i = 0; i < width(function); i++) {
            int slot = offsets[function] + i;
            if (kept.isNullAt(from + i)) {
                target.setNullAt(slot);
            } else {
                Object value = kept.get(from + i, buffer[slot].dataType());
                target.update(slot, InternalRow.copyValue(value));
            }
        }
    }

    /** Adds one packed input row. */
    void add(byte[] packed) {
        InternalRow values = PackedRow.view(packed, input.length);
        update.target(row).apply(joined.apply(row, values));
        for (int i = 0; i < imperative.length; i++) {
            if (imperative[i] != null && takes(i, values)) {
                imperative[i].update(row, values);
            }
        }
    }

    private boolean takes(int function, InternalRow values) {
        int filter = filters[function];
        return filter < 0 || !values.isNullAt(filter) && values.getBoolean(filter);
    }

    /** Merges another stored group into this one, in {@code saved} from this place on. */
    void merge(byte[] saved, int from) {
        load(saved, from, other);
        merging.target(row).apply(joined.apply(row, other));
        for (ImperativeAggregate function : imperative) {
            if (function instanceof TypedImperativeAggregate<?> typed) {
                typed.mergeBuffersObjects(row, other);
            } else if (function != null) {
                function.merge(row, other);
            }
        }
    }

    /** The group as bytes, behind so many bytes that are left free. */
    byte[] save(int free) {
        SpecificInternalRow plain = row;
        boolean isTyped = false;
        for (ImperativeAggregate function : imperative) {
            isTyped |= function instanceof TypedImperativeAggregate<?>;
        }
        if (isTyped) { // the bytes take the object's place, but the result may need the object
            plain = emptyBuffer();
            for (int i = 0; i < buffer.length; i++) {
                if (row.isNullAt(i)) {
                    plain.setNullAt(i);
                } else {
                    plain.update(i, row.get(i, buffer[i].dataType()));
                }
            }
            for (int i = 0; i < functions.length; i++) {
                StateLayout<Object> layout = stateLayout(imperative[i]);
                if (layout != null) {
                    Object state = row.get(offsets[i], buffer[offsets[i]].dataType());
                    plain.update(offsets[i], layout.store(state));
                } else if (imperative[i] instanceof TypedImperativeAggregate<?> typed) {
                    typed.serializeAggregateBufferInPlace(plain);
                }
            }
        }
        UnsafeRow packed = pack.apply(plain);
        int end = free + packed.getSizeInBytes();
        boolean isNumbered = hasFormer || first < functions.length;
        byte[] bytes = new byte[isNumbered ? end + Integer.BYTES : end];
        packed.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + free);
        if (isNumbered) {
            int number = hasFormer ? -buffer.length : buffer.length;
            Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + end, number);
        }
        return bytes;
    }

    /** The columns of the result, packed. */
    byte[] result() {
        return finished().copy().getBytes(); // the projection writes its next row over this one
    }

    /** Whether the condition is true, if there is one. */
    boolean passes() {
        if (!hasFilter) {
            return true;
        }
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
