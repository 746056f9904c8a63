package io.confluent.ksql.function.udaf;

/**
 * An aggregate function that can take a row back, for groups of a table's rows.
 *
 * @param <I> an argument, or a tuple of them
 * @param <A> the state of a group
 * @param <O> the result
 */
public interface TableUdaf<I, A, O> extends Udaf<I, A, O> {
    /** The state with one row less. */
    A undo(I valueToUndo, A aggregateValue);
}
