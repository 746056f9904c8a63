package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;

import scala.collection.immutable.Seq;

import java.util.List;

/** A condition on two rows, alone and in a join. */
class PairConditionTest {
    private static final byte[] KEY = {1};

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

    /** The left row has the columns a and b, the right one c: {@code b < c}. */
    private static PairCondition condition() {
        Attribute a = column("a");
        Attribute b = column("b");
        Attribute c = column("c");
        return PairCondition.of(
                new Filter(new LessThan(b, c), LocalRelation$.MODULE$.apply(seq(List.of(a, b, c)))),
                2);
    }

    private static byte[] row(Integer... values) {
        UnsafeRowWriter row = new UnsafeRowWriter(values.length);
        row.resetRowWriter();
        row.zeroOutNullBytes();
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null) {
                row.setNullAt(i);
            } else {
                row.write(i, values[i]);
            }
        }
        return row.getRow().getBytes();
    }

    @Test
    void itComparesColumnsOfBothRows() {
        PairCondition condition = condition();
        assertTrue(condition.test(row(9, 1), row(2)));
        assertFalse(condition.test(row(0, 2), row(2)));
        assertFalse(condition.test(row(0, null), row(2)));
    }

    @Test
    void aRowWithoutSuchAPartnerIsUnmatched() {
        KeyedOperator operator =
                new TaskStates()
                        .start(new StreamStreamJoin(true, false, false, condition(), 10, 10, 0));
        TaskStates.process(operator, KEY, 1, 100, row(5));
        assertEquals(1, TaskStates.process(operator, KEY, 0, 101, row(1, 4)).size());
        assertEquals(0, TaskStates.process(operator, KEY, 0, 102, row(1, 5)).size());
        List<Row> waited = TaskStates.process(operator, KEY, 0, 150, row(1, 9));
        assertEquals(1, waited.size());
        assertEquals(102, waited.get(0).getLong(1));
        assertTrue(waited.get(0).isNullAt(3));
    }

    @Test
    void aTablesRowIsNoPartnerIfItDoesNotSatisfyTheCondition() {
        KeyedOperator operator =
                new TaskStates().start(new TableJoins.StreamTable(true, condition()));
        TaskStates.process(operator, KEY, 1, 1, row(5));
        assertFalse(TaskStates.process(operator, KEY, 0, 2, row(1, 4)).get(0).isNullAt(3));
        assertTrue(TaskStates.process(operator, KEY, 0, 2, row(1, 5)).get(0).isNullAt(3));
    }
}
