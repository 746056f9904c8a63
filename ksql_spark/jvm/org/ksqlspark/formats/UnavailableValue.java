package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/**
 * What a program that captures changes writes, in a column of each type, instead of a large value
 * that a change left as it was.
 */
final class UnavailableValue implements Serializable {
    private static final long serialVersionUID = 1;

    private final UTF8String text;
    private final byte[] bytes;
    private final UTF8String uuid;

    /** What it is in a column of texts; arrays, maps and JSON may be such columns, too. */
    private final List<UTF8String> texts;

    UnavailableValue(String text) {
        this.text = UTF8String.fromString(text);
        bytes = text.getBytes(StandardCharsets.UTF_8);
        uuid = UTF8String.fromString(UUID.nameUUIDFromBytes(bytes).toString());
        texts =
                List.of(
                        this.text,
                        UTF8String.fromString("[" + text + "]"),
                        UTF8String.fromString('"' + text + '"'),
                        UTF8String.fromString("{\"%s\":\"%s\"}".formatted(text, text)));
    }

    /** Whether a column's value is that. */
    boolean is(Object value, DataType type) {
        if (value instanceof UTF8String found) {
            return texts.contains(found);
        }
        if (value instanceof byte[] found) {
            return Arrays.equals(found, bytes);
        }
        if (value instanceof ArrayData found) {
            return isArray(found, ((ArrayType) type).elementType());
        }
        return value instanceof MapData found
                && found.numElements() == 1
                && text.equals(found.keyArray().getUTF8String(0))
                && ((MapType) type).valueType() instanceof StringType
                && text.equals(found.valueArray().get(0, DataTypes.StringType));
    }

    private boolean isArray(ArrayData found, DataType element) {
        if (found.numElements() == 1 && !found.isNullAt(0)) {
            Object only = found.get(0, element);
            return text.equals(only)
                    || uuid.equals(only)
                    || only instanceof byte[] data && Arrays.equals(data, bytes);
        }
        if (found.numElements() != bytes.length) {
            return false;
        }
        for (int i = 0; i < bytes.length; i++) {
            if (found.isNullAt(i)
                    || !(found.get(i, element) instanceof Number number)
                    || number.doubleValue() != bytes[i]) {
                return false;
            }
        }
        return true;
    }
}
