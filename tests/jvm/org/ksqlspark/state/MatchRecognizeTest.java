package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;

import scala.Option;
import scala.collection.immutable.Seq;

import java.util.List;

/** Matches that wait, late rows, and what the state keeps: of a row, and greater ones after it. */
class MatchRecognizeTest {
    private static final long WITHIN = 10;

    private final TaskStates states = new TaskStates();

    private MatchRecognize operator;

    private static <T> Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }

    private static Attribute column(String name) {
        return new AttributeReference(
                name,
                DataTypes.IntegerType,
                true,
                Metadata.empty(),
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()));
    }

    private static NamedExpression named(Expression value, String name) {
        return new Alias(
                value,
                name,
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()),
                Option.empty(),
                seq(List.<String>of()));
    }

    /** {@code A B+}, where B is greater than the row before it. */
    private void start(MatchRecognize.Skip skip, boolean isAllRows) {
        Attribute value = column("v");
        Attribute last = column("last");
        Attribute before = column("before");
        LogicalPlan columns = LocalRelation$.MODULE$.apply(seq(List.of(value, last, before)));
        PatternExpressions expressions =
                new PatternExpressions(columns, 1, 2, List.of(), List.of(), List.of(0, 1));
        List<NamedExpression> slots = List.of(named(value, "last"), named(last, "before"));
        LogicalPlan take = new Project(seq(slots), columns);
        expressions.symbol((LogicalPlan) null, true, take);
        LogicalPlan isGreater = new Filter(new GreaterThan(value, before), columns);
        expressions.symbol(isGreater, false, take);
        Automaton automaton =
                new Automaton(
                        new int[] {0, 1}, new int[] {0}, new int[][] {{1}, {1, Automaton.ACCEPT}});
        operator =
                states.start(
                        new MatchRecognize(automaton, expressions, WITHIN, skip, -1, isAllRows));
    }

    private static byte[] row(int value) {
        UnsafeRowWriter arguments = new UnsafeRowWriter(1);
        arguments.resetRowWriter();
        arguments.write(0, value);
        UnsafeRowWriter record = new UnsafeRowWriter(2);
        record.resetRowWriter();
        record.write(0, new byte[] {(byte) value});
        record.write(1, arguments.getRow().getBytes());
        return record.getRow().getBytes();
    }

    /** The time and the last value of each result. */
    private List<List<Object>> process(int key, long time, int value) {
        List<Row> results =
                TaskStates.process(operator, new byte[] {(byte) key}, 0, time, row(value));
        return results.stream()
                .map(
                        result -> {
                            var parts = PackedRow.view((byte[]) result.get(3), 1);
                            int last = PackedRow.view(parts.getBinary(0), 2).getInt(0);
                            return List.<Object>of(result.getLong(1), last);
                        })
                .toList();
    }

    @Test
    void aMatchWaitsForARowThatIsPreferred() {
        start(MatchRecognize.Skip.PAST_LAST_ROW, false);
        assertEquals(List.of(), process(1, 100, 1));
        assertEquals(List.of(), process(1, 101, 2));
        start(MatchRecognize.Skip.PAST_LAST_ROW, false);
        assertEquals(List.of(), process(1, 101, 3));
        assertEquals(List.of(List.of(101L, 3)), process(1, 102, 3));
        assertEquals(List.of(), process(1, 103, 4));
    }

    @Test
    void aMatchWaitsNoLongerThanWithin() {
        start(MatchRecognize.Skip.PAST_LAST_ROW, false);
        process(1, 100, 1);
        process(1, 105, 2);
        process(3, 106, 1);
        process(3, 107, 2);
        assertEquals(List.of(), process(2, 110, 9));
        assertEquals(List.of(List.of(105L, 2)), process(2, 111, 1));
        assertEquals(List.of(List.of(107L, 2)), process(2, 130, 1));
        assertEquals(List.of(), process(2, 1000, 1));
        assertEquals(1, states.size("partials"));
        assertEquals(1, states.size("queue"));
    }

    @Test
    void rowsAreAtMostWithinApart() {
        start(MatchRecognize.Skip.TO_NEXT_ROW, false);
        process(1, 100, 1);
        process(1, 110, 2);
        // the first one is over, the second one goes on
        assertEquals(List.of(List.of(110L, 2)), process(1, 111, 3));
        // a late row takes part, but what has it ends earlier
        assertEquals(List.of(), process(1, 103, 4));
        assertEquals(List.of(List.of(103L, 4), List.of(103L, 4)), process(1, 114, 5));
        // one that is too late is left out
        assertEquals(List.of(), process(1, 103, 1));
        assertEquals(List.of(), process(1, 115, 6));
    }

    @Test
    void allRowsOfAMatchAreKeptUntilNobodyNeedsThem() {
        start(MatchRecognize.Skip.PAST_LAST_ROW, true);
        process(1, 100, 5);
        assertEquals(1, states.size("rows"));
        process(1, 101, 4);
        assertEquals(1, states.size("rows"));
        process(1, 102, 6);
        process(1, 103, 7);
        start(MatchRecognize.Skip.PAST_LAST_ROW, true);
        List<Row> results = TaskStates.process(operator, new byte[] {1}, 0, 104, row(1));
        assertEquals(
                List.of(101L, 102L, 103L),
                results.stream().map(result -> result.getLong(1)).toList());
        assertEquals(4, ((byte[]) results.get(0).get(2))[0]);
        assertEquals(1, states.size("rows"));
    }
}
