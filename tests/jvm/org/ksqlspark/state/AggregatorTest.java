package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;

import scala.Option;
import scala.collection.immutable.Seq;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** FILTER of aggregates: only rows whose filter is true count, for the call that it belongs to. */
class AggregatorTest {
    private static final Attribute ALL = column("__arg_0_0", DataTypes.IntegerType);
    private static final Attribute SOME = column("__arg_1_0", DataTypes.IntegerType);
    private static final Attribute LIST = column("__arg_2_0", DataTypes.IntegerType);
    private static final Attribute IS_SOME = column("__filter_1", DataTypes.BooleanType);
    private static final Attribute IS_LISTED = column("__filter_2", DataTypes.BooleanType);

    private static Attribute column(String name, DataType type) {
        return new AttributeReference(
                name,
                type,
                true,
                Metadata.empty(),
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()));
    }

    private static NamedExpression call(AggregateFunction function) {
        return named(function.toAggregateExpression());
    }

    private static NamedExpression named(Expression expression) {
        return new Alias(
                expression,
                "c",
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()),
                Option.empty(),
                seq(List.<String>of()));
    }

    private static <T> Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }

    private static byte[] row(int value, Boolean isSome, Boolean isListed) {
        UnsafeRowWriter row = new UnsafeRowWriter(5);
        row.resetRowWriter();
        row.zeroOutNullBytes();
        for (int i = 0; i < 3; i++) {
            row.write(i, value);
        }
        Boolean[] filters = {isSome, isListed};
        for (int i = 0; i < 2; i++) {
            if (filters[i] == null) {
                row.setNullAt(3 + i);
            } else {
                row.write(3 + i, filters[i].booleanValue());
            }
        }
        return row.getRow().getBytes();
    }

    private static Aggregator aggregator(int appended, Expression condition, Expression... calls) {
        List<NamedExpression> columns = new ArrayList<>();
        for (Expression call : calls) {
            columns.add(named(call));
        }
        if (condition != null) {
            columns.add(named(condition));
        }
        Aggregate plan =
                new Aggregate(
                        seq(List.<Expression>of()),
                        seq(columns),
                        LocalRelation$.MODULE$.apply(
                                seq(List.of(ALL, SOME, LIST, IS_SOME, IS_LISTED))),
                        Option.empty());
        Aggregator made = Aggregator.of(plan, condition != null, appended);
        made.open();
        return made;
    }

    private static Expression max(Attribute column) {
        return new Max(column).toAggregateExpression();
    }

    private static Expression list() {
        return new CollectList(LIST).toAggregateExpression();
    }

    private static byte[] group(Aggregator aggregator, int... values) {
        aggregator.reset();
        for (int value : values) {
            aggregator.add(row(value, true, true));
        }
        return aggregator.save(9);
    }

    /** The numbers of a list, in order. */
    private static List<Integer> numbers(UnsafeRow row, int column) {
        return Arrays.stream(row.getArray(column).toIntArray()).sorted().boxed().toList();
    }

    @Test
    void groupsFromBeforeGoOnAndWhatIsAppendedBeginsEmpty() {
        byte[] old = group(aggregator(0, null, max(ALL), list()), 5, 7);
        Aggregator second = aggregator(2, null, max(ALL), list(), max(SOME), list());
        second.load(old, 9);
        UnsafeRow result = PackedRow.view(second.result(), 4);
        assertEquals(7, result.getInt(0));
        assertEquals(List.of(5, 7), numbers(result, 1));
        assertTrue(result.isNullAt(2));
        assertEquals(List.of(), numbers(result, 3));
        second.add(row(6, true, true));
        byte[] grown = second.save(9);
        second.load(grown, 9);
        result = PackedRow.view(second.result(), 4);
        assertEquals(7, result.getInt(0));
        assertEquals(List.of(5, 6, 7), numbers(result, 1));
        assertEquals(6, result.getInt(2));
        assertEquals(List.of(6), numbers(result, 3));
        Aggregator third = aggregator(3, null, max(ALL), list(), max(SOME), list(), max(ALL));
        for (byte[] stored : List.of(old, grown)) {
            third.load(stored, 9);
            third.add(row(1, true, true));
            result = PackedRow.view(third.result(), 5);
            assertEquals(7, result.getInt(0));
            assertEquals(stored == old ? List.of(1) : List.of(1, 6), numbers(result, 3));
            assertEquals(1, result.getInt(4));
        }
        third.reset();
        for (byte[] stored : List.of(old, grown, group(third))) { // sessions
            third.merge(stored, 9);
        }
        result = PackedRow.view(third.result(), 5);
        assertEquals(List.of(5, 5, 6, 7, 7), numbers(result, 1));
        assertEquals(6, result.getInt(2));
        assertTrue(result.isNullAt(4));
    }

    @Test
    void withoutNewOnesGroupsAreStoredAsBefore() {
        assertEquals(9 + 16, group(aggregator(0, null, max(ALL)), 5).length);
        assertEquals(9 + 24 + 4, group(aggregator(1, null, max(ALL), max(SOME)), 5).length);
    }

    @Test
    void aConditionIsOnTheResultsOfColumns() {
        Expression both = new Coalesce(seq(List.of(max(SOME), max(ALL))));
        Expression same = new Coalesce(seq(List.of(max(SOME), max(ALL))));
        Expression condition = new EqualTo(same, new Literal(3, DataTypes.IntegerType));
        byte[] old = group(aggregator(0, null, max(ALL)), 5);
        Aggregator grown = aggregator(1, condition, max(ALL), both);
        grown.load(old, 9);
        grown.add(row(3, false, true)); // MAX(ALL) of the appended column has not seen 5
        assertTrue(grown.passes());
        assertThrows(
                IllegalArgumentException.class,
                () -> aggregator(1, condition, max(ALL), max(LIST)));
    }

    @Test
    void aFilterIsThatOfItsCallAlone() {
        Aggregate plan =
                new Aggregate(
                        seq(List.<Expression>of()),
                        seq(
                                List.of(
                                        call(new Max(ALL)),
                                        call(new Max(SOME)),
                                        call(new CollectList(LIST)))),
                        LocalRelation$.MODULE$.apply(
                                seq(List.of(ALL, SOME, LIST, IS_SOME, IS_LISTED))),
                        Option.empty());
        Aggregator aggregator = Aggregator.of(plan, false, 0);
        aggregator.open();
        aggregator.reset();
        aggregator.add(row(1, true, false));
        aggregator.add(row(4, null, true));
        aggregator.add(row(3, false, null));
        aggregator.add(row(2, true, true));
        UnsafeRow result = PackedRow.view(aggregator.result(), 3);
        assertEquals(4, result.getInt(0));
        assertEquals(2, result.getInt(1));
        assertEquals(2, result.getArray(2).numElements());
        assertEquals(4, result.getArray(2).getInt(0));
        assertEquals(2, result.getArray(2).getInt(1));
    }
}
