package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

import scala.Option;
import scala.collection.immutable.Seq;

import java.util.List;

/** Aggregators of one function, for operators that are tested without a Spark session. */
final class Aggregates {
    private Aggregates() {}

    static Attribute column(String name, DataType type) {
        return new AttributeReference(
                name,
                type,
                true,
                Metadata.empty(),
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()));
    }

    /** The aggregator of a function over packed records with these columns. */
    static Aggregator of(AggregateFunction function, Attribute... input) {
        Alias call =
                new Alias(
                        function.toAggregateExpression(),
                        "c",
                        NamedExpression$.MODULE$.newExprId(),
                        seq(List.<String>of()),
                        Option.empty(),
                        seq(List.<String>of()));
        return Aggregator.of(
                new Aggregate(
                        seq(List.of()),
                        seq(List.of(call)),
                        LocalRelation$.MODULE$.apply(seq(List.of(input))),
                        Option.empty()),
                false,
                0);
    }

    /** The greatest number of records of one number. */
    static Aggregator greatest() {
        Attribute number = column("number", DataTypes.IntegerType);
        return of(new Max(number), number);
    }

    /** A packed record of the number 1. */
    static byte[] record() {
        UnsafeRowWriter record = new UnsafeRowWriter(1);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, 1);
        return record.getRow().getBytes();
    }

    private static <T> Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }
}
