package org.ksqlspark.extension;

import io.confluent.ksql.schema.ksql.types.SqlType;

import org.apache.spark.sql.catalyst.InternalRow;

import java.lang.reflect.Array;
import java.util.List;

/** Calls a scalar or table function with the arguments in a row. */
final class ScalarCall {
    private final JarMethod method;
    private final Values.Reader[] readers;
    private final Values.Writer writer;
    private final Class<?>[] parameters;

    ScalarCall(JarCall call) {
        method = JarMethod.of(call.jar(), call.code());
        List<SqlType> types = call.types();
        readers = types.stream().map(Values::reader).toArray(Values.Reader[]::new);
        writer = Values.writer(call.type("returns"));
        parameters = method.method.getParameterTypes();
    }

    /**
     * The result for a row, as Spark's value.
     *
     * @throws Throwable what the function throws, or why its result is not of its type
     */
    Object call(InternalRow row) throws Throwable {
        Object[] arguments = new Object[parameters.length];
        int single = parameters.length - (method.method.isVarArgs() ? 1 : 0);
        for (int i = 0; i < single; i++) {
            arguments[i] = argument(row, i, parameters[i]);
        }
        if (method.method.isVarArgs()) {
            Class<?> item = parameters[single].getComponentType();
            Object rest = Array.newInstance(item, readers.length - single);
            for (int i = single; i < readers.length; i++) {
                Array.set(rest, i - single, argument(row, i, item));
            }
            arguments[single] = rest;
        }
        return writer.write(method.call(arguments));
    }

    private Object argument(InternalRow row, int at, Class<?> wanted) {
        Object value = readers[at].read(row, at);
        if (value == null && wanted.isPrimitive()) {
            throw new IllegalArgumentException(
                    "argument " + (at + 1) + " is NULL, and the function takes " + wanted);
        }
        return value;
    }
}
