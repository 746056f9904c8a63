package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

import scala.collection.immutable.Seq;

import java.io.Serializable;

/** A condition on two packed rows, which Catalyst evaluates. Not thread-safe once used. */
public final class PairCondition implements Serializable {
    private final Expression condition;
    private final Seq<Attribute> input;
    private final int left;
    private final int right;
    private transient BasePredicate predicate;
    private transient JoinedRow both;

    private PairCondition(Expression condition, Seq<Attribute> input, int left, int right) {
        this.condition = condition;
        this.input = input;
        this.left = left;
        this.right = right;
    }

    /**
     * The condition of a filter over the columns of both rows, the first {@code left} the left's.
     */
    static PairCondition of(Dataset<Row> template, int left) {
        return of(template.queryExecution().analyzed(), left);
    }

    static PairCondition of(LogicalPlan analyzed, int left) {
        LogicalPlan plan = ReplaceExpressions$.MODULE$.apply(analyzed);
        if (!(plan instanceof Filter filter)) {
            throw new IllegalArgumentException("not a filter: " + plan);
        }
        Expression condition = Aggregator.withoutNames(filter.condition());
        int columns = filter.child().schema().fields().length;
        return new PairCondition(condition, filter.child().output(), left, columns - left);
    }

    boolean test(byte[] leftRow, byte[] rightRow) {
        if (predicate == null) {
            predicate = Predicate.create(condition, input);
            predicate.initialize(0);
            both = new JoinedRow();
        }
        return predicate.eval(
                both.apply(PackedRow.view(leftRow, left), PackedRow.view(rightRow, right)));
    }
}
