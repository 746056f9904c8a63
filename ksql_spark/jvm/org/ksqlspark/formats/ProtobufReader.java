package org.ksqlspark.formats;

import com.google.protobuf.CodedInputStream;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.formats.ColumnValues.FromWhole;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads one value of a field's type, which is next in the bytes. */
interface ProtobufReader {
    Object read(CodedInputStream in) throws IOException;

    /**
     * @param path where the value is in its record, for messages
     */
    static ProtobufReader of(ProtobufSchema.Type type, DataType to, String path) {
        ProtobufReader found;
        if (type.message() != null) {
            found =
                    to instanceof StructType struct
                            ? inside(new ProtobufMessageReader(type.message(), struct))
                            : null;
        } else if (type.symbols() != null) {
            found = to.typeName().equals("string") ? symbol(type.symbols()) : null;
        } else if (type.wrapped() != null) {
            found = inside(wrapped(type.wrapped(), to, path));
        } else {
            found = plain(type.name(), to);
        }
        if (found == null) {
            throw mismatch(path, type.name(), to);
        }
        return found;
    }

    static IllegalArgumentException mismatch(String path, String found, DataType type) {
        return new IllegalArgumentException(
                "%s is of the Protobuf type %s, which does not fit %s."
                        .formatted(path, found, type.sql()));
    }

    /** Reads a message inside another one: its length, then itself. */
    static ProtobufReader inside(ProtobufReader reader) {
        return in -> {
            int limit = in.pushLimit(ProtobufWire.length(in));
            Object value = reader.read(in);
            in.popLimit(limit);
            return value;
        };
    }

    private static ProtobufReader symbol(Map<Integer, String> names) {
        Map<Integer, UTF8String> symbols = new HashMap<>();
        names.forEach((number, name) -> symbols.put(number, UTF8String.fromString(name)));
        return in -> {
            int number = (int) ProtobufWire.varint(in);
            UTF8String symbol = symbols.get(number);
            return symbol == null ? UTF8String.fromString(String.valueOf(number)) : symbol;
        };
    }

    private static ProtobufReader wrapped(ProtobufSchema.Type type, DataType to, String path) {
        StructType row = new StructType().add("value", to);
        ProtobufMessageReader read =
                new ProtobufMessageReader(List.of(type.field("value", 1)), List.of(), row, path);
        return in -> read.read(in).get(0, to);
    }

    private static ProtobufReader plain(String from, DataType type) {
        String to = type.typeName();
        return switch (from) {
            case ProtobufSchema.TIMESTAMP ->
                    to.equals("timestamp") ? inside(ProtobufWellKnown::timestamp) : null;
            case ProtobufSchema.DATE -> to.equals("date") ? inside(ProtobufWellKnown::date) : null;
            case ProtobufSchema.TIME ->
                    to.equals(TimeField.TYPE) ? inside(ProtobufWellKnown::time) : null;
            case ProtobufSchema.DECIMAL ->
                    type instanceof DecimalType decimal
                            ? inside(in -> ProtobufWellKnown.decimal(in, decimal))
                            : null;
            case "bool" ->
                    switch (to) {
                        case "boolean" -> in -> ProtobufWire.varint(in) != 0;
                        case "string" ->
                                in ->
                                        UTF8String.fromString(
                                                String.valueOf(ProtobufWire.varint(in) != 0));
                        default -> null;
                    };
            case "double" -> to.equals("double") ? in -> in.readDouble() : null;
            case "float" -> to.equals("double") ? in -> (double) in.readFloat() : null;
            case "string" -> to.equals("string") ? ProtobufReader::text : null;
            case "bytes" ->
                    switch (to) {
                        case "binary" -> ProtobufWire::bytes;
                        case "string" -> ProtobufReader::text;
                        default -> null;
                    };
            default -> number(number(from), ColumnValues.fromWhole(type));
        };
    }

    private static UTF8String text(CodedInputStream in) throws IOException {
        UTF8String text = UTF8String.fromBytes(ProtobufWire.bytes(in));
        if (!Utf8.isValid(text)) {
            throw new IllegalArgumentException("A text is not valid UTF-8.");
        }
        return text;
    }

    /** A whole number, as it stands in the bytes. */
    interface Number {
        long read(CodedInputStream in) throws IOException;
    }

    private static ProtobufReader number(Number read, FromWhole value) {
        return read == null || value == null ? null : in -> value.of(read.read(in));
    }

    private static Number number(String from) {
        return switch (from) {
            case "int32" -> in -> (int) ProtobufWire.varint(in);
            case "sint32" -> in -> CodedInputStream.decodeZigZag32((int) ProtobufWire.varint(in));
            case "sfixed32" -> CodedInputStream::readSFixed32;
            case "uint32" -> in -> Integer.toUnsignedLong((int) ProtobufWire.varint(in));
            case "fixed32" -> in -> Integer.toUnsignedLong(in.readFixed32());
            case "int64", "uint64" -> ProtobufWire::varint;
            case "sint64" -> ProtobufWire::zigZag;
            case "sfixed64" -> CodedInputStream::readSFixed64;
            case "fixed64" -> CodedInputStream::readFixed64;
            default -> null;
        };
    }
}
