package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.StructType;

import scala.collection.immutable.Seq;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a pattern says of rows, which Catalyst evaluates: the conditions of its symbols, and values
 * of the rows that were mapped so far. Not thread-safe once opened.
 *
 * <p>A row has the arguments of its record, and then the values of PREV. The values of the rows so
 * far are a row of slots, and a buffer for each aggregator.
 */
public final class PatternExpressions implements Serializable {
    /** The values of the rows so far: the slots, and each aggregator's buffer, null for no rows. */
    record Values(byte[] slots, byte[][] buffers) {}

    /** A symbol: its condition (null: every row), and the slots after a row of it. */
    private record Symbol(Expression condition, boolean isOfRow, Seq<Expression> take)
            implements Serializable {}

    /**
     * @param width how many columns its result has
     * @param symbol that of its rows; negative: all
     */
    private record Total(Aggregator aggregator, int width, int symbol, boolean isNeeded)
            implements Serializable {}

    /** The columns of a row, the slots, and the results of the aggregators. */
    private final List<Attribute> columns;

    private final int arguments;
    private final int slots;

    /** For each value of PREV, the argument and how many records back. */
    private final List<Integer> previous;

    private final List<Integer> offsets;

    /** The slots that conditions need. */
    private final List<Integer> needed;

    private final List<Symbol> symbols = new ArrayList<>();
    private final List<Total> totals = new ArrayList<>();

    private transient BasePredicate[] predicates;
    private transient UnsafeProjection[] taking;
    private transient UnsafeProjection extend;
    private transient UnsafeProjection shrink;
    private transient StructType row;
    private transient byte[] nothing;

    /** See {@link KeyedOperators#patternExpressions}. */
    PatternExpressions(
            Dataset<Row> template,
            int arguments,
            int slots,
            List<Integer> previous,
            List<Integer> offsets,
            List<Integer> needed) {
        this(template.queryExecution().analyzed(), arguments, slots, previous, offsets, needed);
    }

    PatternExpressions(
            LogicalPlan template,
            int arguments,
            int slots,
            List<Integer> previous,
            List<Integer> offsets,
            List<Integer> needed) {
        this.columns = List.copyOf(list(template.output()));
        this.arguments = arguments;
        this.slots = slots;
        this.previous = List.copyOf(previous);
        this.offsets = List.copyOf(offsets);
        this.needed = List.copyOf(needed);
    }

    /**
     * Adds the next symbol.
     *
     * @param condition the template, filtered by its condition; null: every row satisfies it
     * @param isOfRow whether this needs the row alone
     * @param take the template with the slots after a row of it, made of this row and of the slots
     *     before
     */
    public void symbol(Dataset<Row> condition, boolean isOfRow, Dataset<Row> take) {
        LogicalPlan filter = condition == null ? null : condition.queryExecution().analyzed();
        symbol(filter, isOfRow, take.queryExecution().analyzed());
    }

    void symbol(LogicalPlan condition, boolean isOfRow, LogicalPlan take) {
        Expression test = null;
        if (condition != null) {
            test = Aggregator.withoutNames(((Filter) replaced(condition)).condition());
        }
        List<Expression> made = new ArrayList<>();
        for (NamedExpression slot : list(((Project) replaced(take)).projectList())) {
            made.add(Aggregator.withoutNames((Expression) slot));
        }
        symbols.add(new Symbol(test, isOfRow, seq(made)));
    }

    /**
     * Adds the next aggregator of rows.
     *
     * @param width how many columns its result has
     * @param symbol that of its rows; negative: all rows
     * @param isNeeded whether a condition needs it
     */
    public void aggregator(Aggregator aggregator, int width, int symbol, boolean isNeeded) {
        totals.add(new Total(aggregator, width, symbol, isNeeded));
    }

    private static LogicalPlan replaced(LogicalPlan analyzed) {
        return ReplaceExpressions$.MODULE$.apply(analyzed);
    }

    void open() {
        Seq<Attribute> input = seq(columns);
        int wide = arguments + previous.size();
        predicates = new BasePredicate[symbols.size()];
        taking = new UnsafeProjection[symbols.size()];
        for (int i = 0; i < predicates.length; i++) {
            Symbol symbol = symbols.get(i);
            if (symbol.condition != null) {
                predicates[i] = Predicate.create(symbol.condition, input);
                predicates[i].initialize(0);
            }
            taking[i] = UnsafeProjection.create(symbol.take, input);
        }
        for (Total total : totals) {
            total.aggregator.open();
        }
        row = new StructType();
        for (int i = 0; i < wide; i++) {
            row = row.add("c" + i, columns.get(i).dataType());
        }
        extend = UnsafeProjection.create(row);
        List<Attribute> all = columns.subList(wide, wide + slots);
        shrink = UnsafeProjection.create(seq(needed.stream().map(all::get).toList()), seq(all));
        nothing = nothing(slots);
    }

    /** How many records before a record its row needs. */
    int back() {
        return offsets.stream().mapToInt(Integer::intValue).max().orElse(0);
    }

    /**
     * The row of a record.
     *
     * @param before the arguments of the records before it, the last one first
     */
    byte[] row(byte[] given, List<byte[]> before) {
        if (previous.isEmpty()) {
            return given;
        }
        GenericInternalRow values = new GenericInternalRow(row.size());
        for (int i = 0; i < row.size(); i++) {
            int back = i < arguments ? 0 : offsets.get(i - arguments);
            int argument = i < arguments ? i : previous.get(i - arguments);
            if (back <= before.size()) {
                byte[] record = back == 0 ? given : before.get(back - 1);
                UnsafeRow one = PackedRow.view(record, arguments);
                values.update(i, one.get(argument, row.apply(i).dataType()));
            }
        }
        return bytes(extend.apply(values));
    }

    /** The values of no rows. */
    Values none() {
        return new Values(nothing, new byte[totals.size()][]);
    }

    /** Whether the condition of a symbol needs the row alone. */
    boolean isOfRow(int symbol) {
        return symbols.get(symbol).isOfRow;
    }

    /** Whether a row, mapped to a symbol, satisfies its condition; the row is in the values. */
    boolean test(int symbol, byte[] given, Values values) {
        BasePredicate predicate = predicates[symbol];
        return predicate == null || predicate.eval(joined(given, values, !isOfRow(symbol)));
    }

    /** The values with one more row, mapped to a symbol. */
    Values with(int symbol, byte[] given, Values values) {
        byte[] taken = values.slots;
        if (slots > 0) {
            taken = bytes(taking[symbol].apply(joined(given, values, false)));
        }
        byte[][] buffers = values.buffers.clone();
        for (int i = 0; i < buffers.length; i++) {
            Total total = totals.get(i);
            if (total.symbol < 0 || total.symbol == symbol) {
                load(total, buffers[i]);
                total.aggregator.add(given);
                buffers[i] = total.aggregator.save(0);
            }
        }
        return new Values(taken, buffers);
    }

    /** What later conditions depend on, as a key. */
    List<ByteBuffer> needed(Values values) {
        List<ByteBuffer> found = new ArrayList<>();
        if (!needed.isEmpty()) {
            found.add(ByteBuffer.wrap(bytes(shrink.apply(PackedRow.view(values.slots, slots)))));
        }
        for (int i = 0; i < values.buffers.length; i++) {
            if (totals.get(i).isNeeded) {
                byte[] buffer = values.buffers[i];
                found.add(ByteBuffer.wrap(buffer == null ? new byte[0] : buffer));
            }
        }
        return found;
    }

    /** The slots, and the packed results of each aggregator. */
    List<byte[]> results(Values values) {
        List<byte[]> results = new ArrayList<>();
        results.add(values.slots);
        for (int i = 0; i < values.buffers.length; i++) {
            load(totals.get(i), values.buffers[i]);
            results.add(totals.get(i).aggregator.result());
        }
        return results;
    }

    private static void load(Total total, byte[] buffer) {
        if (buffer == null) {
            total.aggregator.reset();
        } else {
            total.aggregator.load(buffer, 0);
        }
    }

    private InternalRow joined(byte[] given, Values values, boolean hasTotals) {
        InternalRow all =
                new JoinedRow(
                        PackedRow.view(given, row.size()), PackedRow.view(values.slots, slots));
        for (int i = 0; i < values.buffers.length && hasTotals; i++) {
            Total total = totals.get(i);
            byte[] result = null;
            if (total.isNeeded) {
                load(total, values.buffers[i]);
                result = total.aggregator.result();
            }
            byte[] shown = result == null ? nothing(total.width) : result;
            all = new JoinedRow(all, PackedRow.view(shown, total.width));
        }
        return all;
    }

    /** A row of NULLs. */
    private static byte[] nothing(int columns) {
        int size = UnsafeRow.calculateBitSetWidthInBytes(columns) + 8 * columns;
        byte[] bytes = new byte[size];
        UnsafeRow row = PackedRow.view(bytes, columns);
        for (int i = 0; i < columns; i++) {
            row.setNullAt(i);
        }
        return bytes;
    }

    /** The projection writes its next row over this one. */
    private static byte[] bytes(UnsafeRow row) {
        return row.copy().getBytes();
    }

    private static <T> List<T> list(Seq<T> seq) {
        return scala.jdk.javaapi.CollectionConverters.asJava(seq);
    }

    private static <T> Seq<T> seq(List<? extends T> list) {
        Iterable<T> copy = List.copyOf(list);
        return scala.jdk.javaapi.CollectionConverters.asScala(copy).toSeq();
    }
}
