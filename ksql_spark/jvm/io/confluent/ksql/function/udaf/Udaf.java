package io.confluent.ksql.function.udaf;

import io.confluent.ksql.schema.ksql.SqlArgument;
import io.confluent.ksql.schema.ksql.types.SqlType;

import java.util.List;
import java.util.Optional;

/**
 * An aggregate function.
 *
 * @param <I> an argument, or a tuple of them
 * @param <A> the state of a group
 * @param <O> the result
 */
public interface Udaf<I, A, O> {
    /** Called before everything else. */
    default void initializeTypeArguments(List<SqlArgument> argTypeList) {}

    /** The SQL type of the state, if it depends on the arguments. */
    default Optional<SqlType> getAggregateSqlType() {
        return Optional.empty();
    }

    /** The SQL type of the result, if it depends on the arguments. */
    default Optional<SqlType> getReturnSqlType() {
        return Optional.empty();
    }

    /** The state of a new group. */
    A initialize();

    /** The state with one more row. */
    A aggregate(I current, A aggregate);

    /** The state of two groups that have become one. */
    A merge(A aggOne, A aggTwo);

    /** The result for a state. */
    O map(A agg);
}
