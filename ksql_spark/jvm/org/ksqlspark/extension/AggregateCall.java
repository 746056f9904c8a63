package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;

import io.confluent.ksql.function.udaf.TableUdaf;
import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.schema.ksql.SqlArgument;
import io.confluent.ksql.schema.ksql.types.SqlType;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

import java.lang.reflect.Method;
import java.util.List;

/** Calls an aggregate function, and keeps its states as rows with one column. */
final class AggregateCall {
    private final Udaf<Object, Object, Object> udaf;
    private final ArgumentTuple tuple;
    private final Values.Reader[] readers;
    private final Values.Reader stateReader;
    private final Values.Writer stateWriter;
    private final Values.Writer writer;
    private final UnsafeProjection pack;

    AggregateCall(JarCall call) {
        List<SqlType> types = call.types();
        JarMethod factory = JarMethod.of(call.jar(), call.code());
        udaf = made(factory, call.code(), types);
        tuple = ArgumentTuple.of(factory.method.getGenericReturnType());
        readers = types.stream().map(Values::reader).toArray(Values.Reader[]::new);
        SqlType state = call.type("aggregate");
        stateReader = Values.reader(state);
        stateWriter = Values.writer(state);
        writer = Values.writer(call.type("returns"));
        DataType stored = DataType.fromDDL(call.code().get("stored").asText());
        pack = UnsafeProjection.create(new StructType().add("state", stored));
    }

    /**
     * The function that a factory makes.
     *
     * @param code has the factory's arguments and the properties for a Configurable
     */
    @SuppressWarnings("unchecked")
    static Udaf<Object, Object, Object> made(
            JarMethod factory, JsonNode code, List<SqlType> types) {
        Method method = factory.method;
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = constant(code.get("initial").get(i), method.getParameterTypes()[i]);
        }
        try {
            Udaf<Object, Object, Object> made =
                    (Udaf<Object, Object, Object>) factory.call(arguments);
            JarMethod.configure(made, code.get("properties"));
            made.initializeTypeArguments(types.stream().map(SqlArgument::of).toList());
            return made;
        } catch (Throwable failed) {
            throw new IllegalStateException(JarMethod.because(failed), failed);
        }
    }

    private static Object constant(JsonNode value, Class<?> wanted) {
        if (value == null || value.isNull()) {
            return null;
        }
        if (wanted == int.class || wanted == Integer.class) {
            return value.intValue();
        }
        if (wanted == long.class || wanted == Long.class) {
            return value.longValue();
        }
        if (wanted == double.class || wanted == Double.class) {
            return value.doubleValue();
        }
        return value.isBoolean() ? (Object) value.booleanValue() : value.textValue();
    }

    Object initialize() {
        return udaf.initialize();
    }

    /** The state with one more row, or one less. */
    Object change(Object state, InternalRow row, boolean isUndo) {
        Object[] arguments = new Object[readers.length];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = readers[i].read(row, i);
        }
        Object current = tuple.pack(arguments);
        return isUndo
                ? ((TableUdaf<Object, Object, Object>) udaf).undo(current, state)
                : udaf.aggregate(current, state);
    }

    Object merge(Object one, Object other) {
        return udaf.merge(one, other);
    }

    /** The result for a state, as Spark's value. */
    Object result(Object state) {
        return writer.write(udaf.map(state));
    }

    byte[] encode(Object state) {
        return pack.apply(new GenericInternalRow(new Object[] {stateWriter.write(state)}))
                .getBytes();
    }

    Object decode(byte[] bytes) {
        UnsafeRow row = new UnsafeRow(1);
        row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
        return stateReader.read(row, 0);
    }
}
