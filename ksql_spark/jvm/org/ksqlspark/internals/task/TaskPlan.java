package org.ksqlspark.internals.task;

import org.apache.spark.sql.execution.SparkPlan;

/** A plan of ours, which is equal only to itself. */
abstract class TaskPlan extends SparkPlan {
    @Override
    public int productArity() {
        return 0;
    }

    @Override
    public Object productElement(int n) {
        throw new IndexOutOfBoundsException(n);
    }

    @Override
    public boolean canEqual(Object other) {
        return other == this;
    }
}
