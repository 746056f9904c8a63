package io.confluent.ksql.function.udaf;

import java.util.List;

/**
 * Any number of arguments of an aggregate function.
 *
 * @param <T> the type of each
 */
public class VariadicArgs<T> {
    private final List<T> values;

    public VariadicArgs(List<T> values) {
        this.values = values;
    }

    public List<T> getValues() {
        return values;
    }

    public T get(int index) {
        return values.get(index);
    }

    public int size() {
        return values.size();
    }
}
