package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
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
        return new Alias(
                function.toAggregateExpression(),
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
        Aggregator aggregator = Aggregator.of(plan, false);
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
