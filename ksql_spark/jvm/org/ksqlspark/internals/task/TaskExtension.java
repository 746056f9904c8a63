package org.ksqlspark.internals.task;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;

import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Adds {@link TaskRule} to Spark's sessions (spark.sql.extensions).
 *
 * <p>It is added as a columnar rule: no other hook comes after Spark has put exchanges into a
 * streaming plan.
 */
public final class TaskExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectColumnar(
                new AbstractFunction1<SparkSession, ColumnarRule>() {
                    @Override
                    public ColumnarRule apply(SparkSession session) {
                        return new ColumnarRule() {
                            @Override
                            public Rule<SparkPlan> preColumnarTransitions() {
                                return new TaskRule();
                            }
                        };
                    }
                });
        return BoxedUnit.UNIT;
    }
}
