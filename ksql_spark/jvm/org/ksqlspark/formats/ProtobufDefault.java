package org.ksqlspark.formats;

import com.google.protobuf.CodedInputStream;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What a field has that is not in the bytes. */
final class ProtobufDefault {
    private ProtobufDefault() {}

    /** That of a type: NULL for messages. */
    static Object of(ProtobufSchema.Type type, DataType to) {
        if (type.symbols() != null) {
            String symbol = type.symbols().get(0);
            return symbol == null ? null : UTF8String.fromString(symbol);
        }
        if (!type.isScalar()) {
            return null;
        }
        return switch (to.typeName()) {
            case "boolean" -> false;
            case "binary" -> new byte[0];
            case "string" ->
                    switch (type.name()) {
                        case "string", "bytes" -> UTF8String.EMPTY_UTF8;
                        case "bool" -> UTF8String.fromString("false");
                        default -> UTF8String.fromString("0");
                    };
            default -> ColumnValues.fromWhole(to).of(0);
        };
    }

    /** The one that a schema gives a field; null if it is not a value of the field's type. */
    static Object declared(ProtobufSchema.Field field, ProtobufReader read) {
        ProtobufOutput out = new ProtobufOutput();
        try {
            write(out, field.type(), field.standard());
            return read.read(CodedInputStream.newInstance(out.after(new byte[0])));
        } catch (IOException | IllegalArgumentException | ArithmeticException bad) {
            return null;
        }
    }

    private static void write(ProtobufOutput out, ProtobufSchema.Type type, String text) {
        if (type.symbols() != null) {
            type.symbols()
                    .forEach(
                            (number, symbol) -> {
                                if (symbol.equals(text)) {
                                    out.varint(number);
                                }
                            });
            return;
        }
        switch (type.name()) {
            case "string" -> out.bytes(text.getBytes(StandardCharsets.UTF_8));
            case "bytes" -> out.bytes(text.getBytes(StandardCharsets.ISO_8859_1));
            case "bool" -> out.varint(Boolean.parseBoolean(text) ? 1 : 0);
            case "double" -> out.fixed64(Double.doubleToRawLongBits(real(text)));
            case "float" -> out.fixed32(Float.floatToRawIntBits((float) real(text)));
            case "sint32", "sint64" -> out.zigZag(Long.decode(text));
            case "fixed32", "sfixed32" -> out.fixed32(Long.decode(text).intValue());
            case "fixed64", "sfixed64" -> out.fixed64(Long.decode(text));
            default -> out.varint(Long.decode(text));
        }
    }

    private static double real(String text) {
        String plain = text.startsWith("-") ? text.substring(1) : text;
        double size =
                switch (plain) {
                    case "inf" -> Double.POSITIVE_INFINITY;
                    case "nan" -> Double.NaN;
                    default -> Double.parseDouble(plain);
                };
        return text.startsWith("-") ? -size : size;
    }
}
