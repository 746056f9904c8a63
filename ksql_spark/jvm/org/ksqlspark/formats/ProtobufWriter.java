package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.ColumnValues.ToWhole;

import java.util.HashMap;
import java.util.Map;

/** Writes the value at a place of a row or array, which is not NULL. */
interface ProtobufWriter {
    void write(ProtobufOutput out, SpecializedGetters from, int at);

    /** The same after a tag. */
    default ProtobufWriter tagged(int tag) {
        return (out, from, at) -> {
            out.varint(tag);
            write(out, from, at);
        };
    }

    /** The same after its length. */
    static ProtobufWriter inside(ProtobufWriter writer) {
        return (out, from, at) -> {
            int start = out.begin();
            writer.write(out, from, at);
            out.end(start);
        };
    }

    /** Nothing for the value that a field without presence has when it is left out. */
    default ProtobufWriter unlessDefault(DataType type) {
        Test isDefault = isDefault(type);
        return (out, from, at) -> {
            if (!isDefault.of(from, at)) {
                write(out, from, at);
            }
        };
    }

    /** Whether a value is of some kind. */
    interface Test {
        boolean of(SpecializedGetters from, int at);
    }

    private static Test isDefault(DataType type) {
        return switch (type.typeName()) {
            case "string" -> (from, at) -> from.getUTF8String(at).numBytes() == 0;
            case "binary" -> (from, at) -> from.getBinary(at).length == 0;
            case "boolean" -> (from, at) -> !from.getBoolean(at);
            case "double" -> (from, at) -> Double.doubleToRawLongBits(from.getDouble(at)) == 0;
            default -> {
                ToWhole whole = ColumnValues.toWhole(type);
                yield (from, at) -> whole.of(from, at) == 0;
            }
        };
    }

    /**
     * The writer of values without a tag.
     *
     * @param path where the value is in its row, for messages
     */
    static ProtobufWriter of(ProtobufSchema.Type type, DataType from, String path) {
        ProtobufWriter found;
        if (type.message() != null) {
            found = from instanceof StructType struct ? message(type, struct, path) : null;
        } else if (type.symbols() != null) {
            found = from.typeName().equals("string") ? symbol(type) : null;
        } else if (type.wrapped() != null) {
            ProtobufWriter value = of(type.wrapped(), from, path);
            found = inside(value.tagged(type.wrapped().tag(1)).unlessDefault(from));
        } else {
            found = plain(type.name(), from);
        }
        if (found == null) {
            throw mismatch(path, type.name(), from);
        }
        return found;
    }

    static IllegalArgumentException mismatch(String path, String found, DataType type) {
        return new IllegalArgumentException(
                "Values of type %s do not fit the Protobuf type %s of %s."
                        .formatted(type.sql(), found, path));
    }

    private static ProtobufWriter message(
            ProtobufSchema.Type type, StructType struct, String path) {
        ProtobufMessageWriter writer = new ProtobufMessageWriter(type.message(), struct, path);
        int size = struct.size();
        return inside((out, from, at) -> writer.write(out, from.getStruct(at, size)));
    }

    private static ProtobufWriter symbol(ProtobufSchema.Type type) {
        Map<String, Integer> numbers = new HashMap<>();
        type.symbols().forEach((number, symbol) -> numbers.put(symbol, number));
        return (out, from, at) -> {
            String symbol = from.getUTF8String(at).toString();
            Integer number = numbers.get(symbol);
            if (number == null) {
                throw new IllegalArgumentException(
                        "The schema's enum " + type.name() + " has no " + symbol + ".");
            }
            out.varint(number);
        };
    }

    private static ProtobufWriter plain(String to, DataType type) {
        String needed =
                switch (to) {
                    case ProtobufSchema.TIMESTAMP -> "timestamp";
                    case ProtobufSchema.DATE -> "date";
                    case ProtobufSchema.TIME -> "integer";
                    case "double", "float" -> "double";
                    case "bool" -> "boolean";
                    case "bytes" -> "binary";
                    case "string" -> "string";
                    default -> type.typeName();
                };
        if (!type.typeName().equals(needed)) {
            return null;
        }
        return switch (to) {
            case ProtobufSchema.TIMESTAMP -> inside(ProtobufWellKnown::timestamp);
            case ProtobufSchema.DATE -> inside(ProtobufWellKnown::date);
            case ProtobufSchema.TIME -> inside(ProtobufWellKnown::time);
            case ProtobufSchema.DECIMAL ->
                    type instanceof DecimalType decimal
                            ? inside(ProtobufWellKnown.decimal(decimal))
                            : null;
            case "double" ->
                    (out, from, at) -> out.fixed64(Double.doubleToRawLongBits(from.getDouble(at)));
            case "float" ->
                    (out, from, at) ->
                            out.fixed32(
                                    Float.floatToRawIntBits(
                                            ColumnValues.single(from.getDouble(at))));
            case "string" -> (out, from, at) -> out.bytes(from.getUTF8String(at).getBytes());
            case "bytes" -> (out, from, at) -> out.bytes(from.getBinary(at));
            case "bool" -> (out, from, at) -> out.varint(from.getBoolean(at) ? 1 : 0);
            default -> whole(whole(to), ColumnValues.toWhole(type));
        };
    }

    /** Writes a whole number. */
    interface Whole {
        void write(ProtobufOutput out, long number);
    }

    private static ProtobufWriter whole(Whole writer, ToWhole whole) {
        return writer == null || whole == null
                ? null
                : (out, from, at) -> writer.write(out, whole.of(from, at));
    }

    private static Whole whole(String to) {
        return switch (to) {
            case "int32" -> (out, number) -> out.varint(Math.toIntExact(number));
            case "sint32" -> (out, number) -> out.zigZag(Math.toIntExact(number));
            case "sfixed32" -> (out, number) -> out.fixed32(Math.toIntExact(number));
            case "uint32" -> (out, number) -> out.varint(unsigned(number));
            case "fixed32" -> (out, number) -> out.fixed32((int) unsigned(number));
            case "int64", "uint64" -> ProtobufOutput::varint;
            case "sint64" -> ProtobufOutput::zigZag;
            case "sfixed64", "fixed64" -> ProtobufOutput::fixed64;
            default -> null;
        };
    }

    private static long unsigned(long number) {
        if (number < 0 || number > 0xffffffffL) {
            throw new IllegalArgumentException(number + " does not fit 32 bits without a sign.");
        }
        return number;
    }
}
