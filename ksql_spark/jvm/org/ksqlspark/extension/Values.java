package org.ksqlspark.extension;

import io.confluent.ksql.schema.ksql.types.SqlArray;
import io.confluent.ksql.schema.ksql.types.SqlDecimal;
import io.confluent.ksql.schema.ksql.types.SqlMap;
import io.confluent.ksql.schema.ksql.types.SqlStruct;
import io.confluent.ksql.schema.ksql.types.SqlType;

import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Values as functions for ksqlDB take and return them: BYTES are ByteBuffers, DATE, TIME and
 * TIMESTAMP those of java.sql, STRUCTs those of Kafka Connect. In Spark's rows a TIME is an INT,
 * milliseconds.
 */
final class Values {
    private static final long DAY_MS = TimeUnit.DAYS.toMillis(1);

    private Values() {}

    /** Takes a value from a row or an array. */
    @FunctionalInterface
    interface Reader {
        /** The value, which is not NULL. */
        Object get(SpecializedGetters from, int at);

        /** The value, or null. */
        default Object read(SpecializedGetters from, int at) {
            return from.isNullAt(at) ? null : get(from, at);
        }
    }

    /** Makes Spark's value of one that is not null. */
    @FunctionalInterface
    interface Writer {
        Object set(Object value);

        default Object write(Object value) {
            return value == null ? null : set(value);
        }
    }

    static Reader reader(SqlType type) {
        return switch (type.baseType()) {
            case BOOLEAN -> SpecializedGetters::getBoolean;
            case INTEGER -> SpecializedGetters::getInt;
            case BIGINT -> SpecializedGetters::getLong;
            case DOUBLE -> SpecializedGetters::getDouble;
            case STRING -> (from, at) -> from.getUTF8String(at).toString();
            case BYTES -> (from, at) -> ByteBuffer.wrap(from.getBinary(at));
            case DATE -> (from, at) -> new java.sql.Date(from.getInt(at) * DAY_MS);
            case TIME -> (from, at) -> new java.sql.Time(from.getInt(at));
            case TIMESTAMP ->
                    (from, at) -> new java.sql.Timestamp(Math.floorDiv(from.getLong(at), 1000L));
            case DECIMAL -> {
                SqlDecimal decimal = (SqlDecimal) type;
                yield (from, at) ->
                        from.getDecimal(at, decimal.getPrecision(), decimal.getScale())
                                .toJavaBigDecimal();
            }
            case ARRAY -> {
                Reader item = reader(((SqlArray) type).getItemType());
                yield (from, at) -> list(from.getArray(at), item);
            }
            case MAP -> {
                Reader key = reader(((SqlMap) type).getKeyType());
                Reader value = reader(((SqlMap) type).getValueType());
                yield (from, at) -> map(from.getMap(at), key, value);
            }
            case STRUCT -> struct((SqlStruct) type);
        };
    }

    private static List<Object> list(ArrayData items, Reader item) {
        List<Object> list = new ArrayList<>(items.numElements());
        for (int i = 0; i < items.numElements(); i++) {
            list.add(item.read(items, i));
        }
        return list;
    }

    private static Map<Object, Object> map(MapData entries, Reader key, Reader value) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.numElements(); i++) {
            map.put(key.read(entries.keyArray(), i), value.read(entries.valueArray(), i));
        }
        return map;
    }

    private static Reader struct(SqlStruct type) {
        Schema schema = schema(type);
        List<Field> fields = schema.fields();
        List<Reader> readers = type.fields().stream().map(field -> reader(field.type())).toList();
        return (from, at) -> {
            SpecializedGetters row = from.getStruct(at, fields.size());
            Struct struct = new Struct(schema);
            for (int i = 0; i < fields.size(); i++) {
                struct.put(fields.get(i), readers.get(i).read(row, i));
            }
            return struct;
        };
    }

    /** Connect's schema of a type; everything in it may be NULL. */
    static Schema schema(SqlType type) {
        return switch (type.baseType()) {
            case BOOLEAN -> Schema.OPTIONAL_BOOLEAN_SCHEMA;
            case INTEGER -> Schema.OPTIONAL_INT32_SCHEMA;
            case BIGINT -> Schema.OPTIONAL_INT64_SCHEMA;
            case DOUBLE -> Schema.OPTIONAL_FLOAT64_SCHEMA;
            case STRING -> Schema.OPTIONAL_STRING_SCHEMA;
            case BYTES -> Schema.OPTIONAL_BYTES_SCHEMA;
            case DATE -> Date.builder().optional().build();
            case TIME -> Time.builder().optional().build();
            case TIMESTAMP -> Timestamp.builder().optional().build();
            case DECIMAL ->
                    org.apache.kafka.connect.data.Decimal.builder(((SqlDecimal) type).getScale())
                            .parameter(
                                    "connect.decimal.precision",
                                    String.valueOf(((SqlDecimal) type).getPrecision()))
                            .optional()
                            .build();
            case ARRAY ->
                    SchemaBuilder.array(schema(((SqlArray) type).getItemType())).optional().build();
            case MAP ->
                    SchemaBuilder.map(
                                    schema(((SqlMap) type).getKeyType()),
                                    schema(((SqlMap) type).getValueType()))
                            .optional()
                            .build();
            case STRUCT -> {
                SchemaBuilder struct = SchemaBuilder.struct().optional();
                ((SqlStruct) type)
                        .fields()
                        .forEach(field -> struct.field(field.name(), schema(field.type())));
                yield struct.build();
            }
        };
    }

    /** A value of another class than the type's makes it throw a ClassCastException. */
    static Writer writer(SqlType type) {
        return switch (type.baseType()) {
            case BOOLEAN -> Boolean.class::cast;
            case INTEGER -> Integer.class::cast;
            case BIGINT -> Long.class::cast;
            case DOUBLE -> Double.class::cast;
            case STRING -> value -> UTF8String.fromString((String) value);
            case BYTES -> value -> bytes((ByteBuffer) value);
            case DATE -> value -> (int) Math.floorDiv(millis(value), DAY_MS);
            case TIME -> value -> (int) Math.floorMod(millis(value), DAY_MS);
            case TIMESTAMP -> value -> Math.multiplyExact(millis(value), 1000L);
            case DECIMAL -> value -> decimal((BigDecimal) value, (SqlDecimal) type);
            case ARRAY -> {
                Writer item = writer(((SqlArray) type).getItemType());
                yield value -> array((List<?>) value, item);
            }
            case MAP -> {
                Writer key = writer(((SqlMap) type).getKeyType());
                Writer item = writer(((SqlMap) type).getValueType());
                yield value ->
                        new ArrayBasedMapData(
                                array(List.copyOf(((Map<?, ?>) value).keySet()), key),
                                array(new ArrayList<>(((Map<?, ?>) value).values()), item));
            }
            case STRUCT -> row((SqlStruct) type);
        };
    }

    private static long millis(Object time) {
        return ((java.util.Date) time).getTime();
    }

    private static byte[] bytes(ByteBuffer value) {
        ByteBuffer view = value.duplicate();
        byte[] bytes = new byte[view.remaining()];
        view.get(bytes);
        return bytes;
    }

    private static Decimal decimal(BigDecimal value, SqlDecimal type) {
        BigDecimal rounded = value.setScale(type.getScale(), RoundingMode.HALF_UP);
        if (rounded.precision() > type.getPrecision()) {
            throw new ArithmeticException("the result " + value + " does not fit " + type);
        }
        return Decimal.apply(rounded, type.getPrecision(), type.getScale());
    }

    private static GenericArrayData array(List<?> items, Writer item) {
        Object[] values = new Object[items.size()];
        int i = 0;
        for (Object value : items) {
            values[i++] = item.write(value);
        }
        return new GenericArrayData(values);
    }

    private static Writer row(SqlStruct type) {
        List<SqlStruct.Field> fields = type.fields();
        List<Writer> writers = fields.stream().map(field -> writer(field.type())).toList();
        return value -> {
            Struct struct = (Struct) value;
            Object[] values = new Object[fields.size()];
            for (int i = 0; i < values.length; i++) {
                Field field = field(struct.schema(), fields.get(i).name());
                values[i] = writers.get(i).write(struct.get(field));
            }
            return new GenericInternalRow(values);
        };
    }

    private static Field field(Schema schema, String name) {
        Field exact = schema.field(name);
        if (exact != null) {
            return exact;
        }
        for (Field field : schema.fields()) {
            if (field.name().equalsIgnoreCase(name)) {
                return field;
            }
        }
        throw new IllegalArgumentException("the STRUCT has no field " + name);
    }
}
