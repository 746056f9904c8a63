package org.ksqlspark.state;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.classic.Dataset;

import scala.Option;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * FILTER of aggregates. A call's text is that of several of Catalyst's aggregates at times, so its
 * FILTER is not in the text: an aggregate of a column {@code __arg_N_…} takes only rows whose
 * column {@code __filter_N} is true, if there is one.
 */
public final class AggregateFilters {
    private static final Pattern ARGUMENT = Pattern.compile("__arg_(\\d+)_\\d+");

    private AggregateFilters() {}

    /** A frame that is an aggregation, with the filters of its calls. */
    public static Dataset<Row> batch(Dataset<Row> grouped) {
        Aggregate plan = (Aggregate) grouped.queryExecution().analyzed();
        List<Attribute> input =
                scala.jdk.javaapi.CollectionConverters.asJava(plan.child().output());
        List<NamedExpression> output = new ArrayList<>();
        for (NamedExpression column :
                scala.jdk.javaapi.CollectionConverters.asJava(plan.aggregateExpressions())) {
            output.add((NamedExpression) filtered((Expression) column, input));
        }
        Aggregate done =
                new Aggregate(
                        plan.groupingExpressions(),
                        scala.jdk.javaapi.CollectionConverters.asScala(
                                        (Iterable<NamedExpression>) output)
                                .toSeq(),
                        plan.child(),
                        plan.hint());
        return Dataset.ofRows(grouped.sparkSession(), done);
    }

    private static Expression filtered(Expression expression, List<Attribute> input) {
        return expression instanceof AggregateExpression call
                ? filtered(call, input)
                : expression.mapChildren(child -> filtered(child, input));
    }

    /** An aggregate of a frame with these columns, with its filter. */
    static AggregateExpression filtered(AggregateExpression call, List<Attribute> input) {
        for (Attribute column :
                scala.jdk.javaapi.CollectionConverters.asJava(call.references().toSeq())) {
            Matcher argument = ARGUMENT.matcher(column.name());
            String filter = argument.matches() ? "__filter_" + argument.group(1) : "";
            for (Attribute other : input) {
                if (other.name().equals(filter)) {
                    return call.copy(
                            call.aggregateFunction(),
                            call.mode(),
                            call.isDistinct(),
                            Option.apply((Expression) other),
                            call.resultId());
                }
            }
        }
        return call;
    }
}
