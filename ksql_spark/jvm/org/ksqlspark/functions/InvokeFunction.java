package org.ksqlspark.functions;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

import java.time.DateTimeException;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * A scalar function that Spark's generated code calls. A subclass has one public method {@code
 * invoke} with the Java types of the inputs. A NULL of a type with a Java primitive arrives as 0,
 * so callers must handle NULL themselves.
 */
public abstract class InvokeFunction<R> implements ScalarFunction<R> {
    /** How many patterns, zones or paths are cached per kind; they may come from columns. */
    private static final int REMEMBERED = 1000;

    private final DataType resultType;
    private final DataType[] inputTypes;

    protected InvokeFunction(DataType resultType, DataType... inputTypes) {
        this.resultType = resultType;
        this.inputTypes = inputTypes;
    }

    @Override
    public DataType[] inputTypes() {
        return inputTypes;
    }

    @Override
    public DataType resultType() {
        return resultType;
    }

    @Override
    public String name() {
        return getClass().getSimpleName();
    }

    @Override
    public String canonicalName() {
        return getClass().getName();
    }

    /** Tells Spark that equal calls can be computed once. */
    @Override
    public boolean equals(Object other) {
        return other != null && getClass() == other.getClass();
    }

    @Override
    public int hashCode() {
        return getClass().hashCode();
    }

    /** The cached result of {@code make} for a text; null if it fails. */
    static <T> T remembered(
            Map<UTF8String, Optional<T>> made, UTF8String text, Function<String, T> make) {
        if (text == null) {
            return null;
        }
        Optional<T> found = made.get(text);
        if (found == null) {
            try {
                found = Optional.of(make.apply(text.toString()));
            } catch (IllegalArgumentException | DateTimeException | StackOverflowError bad) {
                found = Optional.empty();
            }
            if (made.size() >= REMEMBERED / (1 + text.numBytes() / 1_000)) { // long texts: fewer
                made.clear();
            }
            made.put(text.copy(), found);
        }
        return found.orElse(null);
    }
}
