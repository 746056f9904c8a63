package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.TimeType;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * Decodes a line of delimited fields, quoted as in CSV (reference §5.2), to a row. An empty field
 * is NULL. Only the first non-empty line counts.
 *
 * <p>The rules are those of Commons CSV, which ksqlDB uses. The univocity parser among Spark's jars
 * has other rules, whatever its settings: it knows one line separator, so a line that ends with CR
 * LF keeps its CR; it accepts a quoted field without an end; and it skips a line that begins with
 * its comment character, which cannot be turned off (all three are in the records of
 * tests/formats/records/delimited.py). It also takes twice as long to split a line as this class
 * takes to decode it.
 */
public final class DelimitedDecoder extends BytesToRow {
    private final byte[] delimiter;
    private final DataType[] types;

    /**
     * @param argument the delimiter (one character), followed by the columns as Spark DDL
     */
    public DelimitedDecoder(String argument) {
        super("decode_delimited", argument.substring(delimiterSize(argument)));
        this.delimiter =
                argument.substring(0, delimiterSize(argument)).getBytes(StandardCharsets.UTF_8);
        this.types =
                Arrays.stream(schema.fields()).map(StructField::dataType).toArray(DataType[]::new);
    }

    private static int delimiterSize(String argument) {
        return Character.charCount(argument.codePointAt(0));
    }

    @Override
    public InternalRow invoke(byte[] data) {
        return orNull(data);
    }

    @Override
    protected InternalRow decode(byte[] data) {
        int at = 0;
        while (at < data.length && endsLine(data[at])) {
            at++;
        }
        if (at == data.length) {
            throw new IllegalArgumentException("There are no fields in it.");
        }
        Object[] values = new Object[types.length];
        int fields = 0;
        while (true) {
            byte[] field = data;
            int from = at;
            int to;
            if (at < data.length && data[at] == '"') {
                int close = close(data, at + 1);
                boolean hasQuotes = close < 0;
                close = Math.abs(close);
                field = hasQuotes ? unquoted(data, at + 1, close) : data;
                from = hasQuotes ? 0 : at + 1;
                to = hasQuotes ? field.length : close;
                at = close + 1;
                while (at < data.length && isBlank(data[at]) && !delimits(data, at)) {
                    at++;
                }
                if (at < data.length && !endsLine(data[at]) && !delimits(data, at)) {
                    throw new IllegalArgumentException("Something stands behind a quoted field.");
                }
            } else {
                while (at < data.length && !endsLine(data[at]) && !delimits(data, at)) {
                    at++;
                }
                to = at;
            }
            if (fields < types.length) {
                values[fields] = from == to ? null : value(field, from, to, fields);
            }
            fields++;
            if (at == data.length || endsLine(data[at])) {
                break;
            }
            at += delimiter.length;
        }
        if (fields != types.length) {
            throw new IllegalArgumentException(
                    "Unexpected field count: there are %s, the schema has %s."
                            .formatted(fields, types.length));
        }
        return new GenericInternalRow(values);
    }

    /**
     * The position of the quote that closes a field; negative if there are doubled quotes before
     * it.
     */
    private static int close(byte[] data, int from) {
        boolean hasQuotes = false;
        for (int i = from; i < data.length; i++) {
            if (data[i] == '"') {
                if (i + 1 == data.length || data[i + 1] != '"') {
                    return hasQuotes ? -i : i;
                }
                hasQuotes = true;
                i++;
            }
        }
        throw new IllegalArgumentException("A quoted field has no end.");
    }

    private static byte[] unquoted(byte[] data, int from, int to) {
        byte[] plain = new byte[to - from];
        int size = 0;
        for (int i = from; i < to; i++) {
            plain[size++] = data[i];
            if (data[i] == '"') {
                i++;
            }
        }
        return Arrays.copyOf(plain, size);
    }

    private boolean delimits(byte[] data, int at) {
        if (data[at] != delimiter[0]) {
            return false;
        }
        int end = at + delimiter.length;
        return delimiter.length == 1
                || end <= data.length
                        && Arrays.equals(data, at, end, delimiter, 0, delimiter.length);
    }

    private static boolean endsLine(byte b) {
        return b == '\n' || b == '\r';
    }

    private static boolean isBlank(byte b) {
        return b == ' ' || b == '\t';
    }

    private Object value(byte[] data, int from, int to, int column) {
        try {
            return value(data, from, to, types[column]);
        } catch (IllegalArgumentException | ArithmeticException bad) {
            String text = new String(data, from, to - from, StandardCharsets.UTF_8);
            String name = schema.fieldNames()[column];
            throw new IllegalArgumentException(
                    "Column " + name + ": '" + text + "' does not fit the column's type.");
        }
    }

    /** Not readers as in other formats: calls of several lambdas take a third longer. */
    private static Object value(byte[] data, int from, int to, DataType type) {
        if (type.equals(DataTypes.StringType)) {
            return Utf8.replaced(data, from, to - from);
        }
        if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
            return Math.toIntExact(whole(data, from, to));
        }
        if (type instanceof TimeType) {
            return TimeField.fit(whole(data, from, to));
        }
        if (type.equals(DataTypes.LongType)) {
            return whole(data, from, to);
        }
        if (type.equals(DataTypes.TimestampType)) {
            return Math.multiplyExact(whole(data, from, to), 1000L);
        }
        if (type.equals(DataTypes.DoubleType)) {
            return Double.parseDouble(text(data, from, to));
        }
        if (type.equals(DataTypes.BooleanType)) {
            return to - from == 4 && text(data, from, to).equalsIgnoreCase("true");
        }
        if (type.equals(DataTypes.BinaryType)) {
            return Base64.getDecoder().decode(Arrays.copyOfRange(data, from, to));
        }
        return DecimalField.fit(DecimalField.of(text(data, from, to)), (DecimalType) type);
    }

    private static String text(byte[] data, int from, int to) {
        return new String(data, from, to - from, StandardCharsets.UTF_8);
    }

    /** An integer: digits with an optional sign. */
    private static long whole(byte[] data, int from, int to) {
        boolean isSigned = data[from] == '-' || data[from] == '+';
        if (to - from > 18 || isSigned && to - from == 1) {
            return Long.parseLong(text(data, from, to));
        }
        long value = 0;
        for (int i = isSigned ? from + 1 : from; i < to; i++) {
            int digit = data[i] - '0';
            if (digit < 0 || digit > 9) {
                throw new NumberFormatException();
            }
            value = value * 10 + digit;
        }
        return data[from] == '-' ? -value : value;
    }
}
