package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;

import scala.Option;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * FILTER of aggregates. A call's text is that of several of Catalyst's aggregates at times, so its
 * FILTER is not in the text: an aggregate of a column {@code __arg_N_…} takes only rows whose
 * column {@code __filter_N} is true, or {@code __distinct_N_…}, if there is one.
 */
public final class AggregateFilters {
    private static final Pattern ARGUMENT = Pattern.compile("__arg_(\\d+)_\\d+");

    private AggregateFilters() {}

    /** An aggregate of a frame with these columns, with its filter. */
    static AggregateExpression filtered(AggregateExpression call, List<Attribute> input) {
        for (Attribute column :
                scala.jdk.javaapi.CollectionConverters.asJava(call.references().toSeq())) {
            Matcher argument = ARGUMENT.matcher(column.name());
            if (!argument.matches()) {
                continue;
            }
            String number = argument.group(1);
            for (Attribute other : input) {
                if (other.name().equals("__filter_" + number)
                        || other.name().startsWith("__distinct_" + number + "_")) {
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
