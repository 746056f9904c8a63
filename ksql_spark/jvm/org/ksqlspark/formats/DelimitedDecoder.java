package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.functions.InvokeFunction;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * Decodes a line of delimited fields, quoted as in CSV (reference §5.2), to a row. An empty field
 * is NULL; a record whose fields do not match the schema is NULL as a whole. Only the first
 * non-empty line counts.
 *
 * <p>The rules are those of Commons CSV, which ksqlDB uses. The univocity parser among Spark's jars
 * has other rules, whatever its settings: it knows one line separator, so a line that ends with CR
 * LF keeps its CR; it accepts a quoted field without an end; and it skips a line that begins with
 * its comment character, which cannot be turned off (DelimitedDecoderTest checks all three). It
 * also takes twice as long to split a line as this class takes to decode it.
 */
public final class DelimitedDecoder extends BytesToRow {
    private final byte[] delimiter;
    private final DataType[] types;

    /**
     * @param argument the delimiter (one character), followed by the columns as Spark DDL
     */
    public DelimitedDecoder(String argument) {
        super("decode_delimited", StructType.fromDDL(argument.substring(delimiterSize(argument))));
        this.delimiter =
                argument.substring(0, delimiterSize(argument)).getBytes(StandardCharsets.UTF_8);
        this.types =
                Arrays.stream(schema.fields())
                        .map(field -> field.dataType())
                        .toArray(DataType[]::new);
    }

    private static int delimiterSize(String argument) {
        return Character.charCount(argument.codePointAt(0));
    }

    @Override
    public InternalRow invoke(byte[] data) {
        if (data == null) {
            return null;
        }
        try {
            return decode(data);
        } catch (IllegalArgumentException | ArithmeticException bad) {
            return null;
        }
    }

    /** Why a record is NULL, for the processing log; reads it once more. */
    public static final class Explain extends InvokeFunction<UTF8String> {
        private final DelimitedDecoder decoder;

        public Explain(String argument) {
            super(DataTypes.StringType, DataTypes.BinaryType);
            this.decoder = new DelimitedDecoder(argument);
        }

        public UTF8String invoke(byte[] data) {
            if (data == null) {
                return null;
            }
            try {
                decoder.decode(data);
                return UTF8String.fromString("Nothing is wrong with it.");
            } catch (IllegalArgumentException | ArithmeticException bad) {
                return UTF8String.fromString(bad.getMessage());
            }
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Explain) other).decoder.schema.equals(decoder.schema);
        }

        @Override
        public int hashCode() {
            return decoder.schema.hashCode();
        }
    }

    /** A field's text as written: quoted if necessary, by the minimal rules of Commons CSV. */
    public static final class Quote extends InvokeFunction<UTF8String> {
        private final byte[] delimiter;
        private final boolean isFirst;

        /**
         * @param argument the delimiter; isFirst: the field begins the line
         */
        public Quote(String argument, boolean isFirst) {
            super(DataTypes.StringType, DataTypes.StringType);
            this.delimiter = argument.getBytes(StandardCharsets.UTF_8);
            this.isFirst = isFirst;
        }

        public UTF8String invoke(UTF8String text) {
            if (text == null) {
                return null;
            }
            if (text.numBytes() == 0) { // an empty line would hold no field at all
                return isFirst ? UTF8String.fromString("\"\"") : text;
            }
            int quotes = 0;
            byte first = text.getByte(0);
            byte last = text.getByte(text.numBytes() - 1);
            boolean isQuoted = isFirst ? !isAlphanumeric(first) : first >= 0 && first <= '#';
            isQuoted |= last >= 0 && last <= ' ';
            for (int i = 0; i < text.numBytes(); i++) {
                byte b = text.getByte(i);
                quotes += b == '"' ? 1 : 0;
                isQuoted |= b == '\r' || b == '\n' || b == delimiter[0] && delimits(text, i);
            }
            return isQuoted || quotes > 0 ? quoted(text, quotes) : text;
        }

        private static boolean isAlphanumeric(byte b) {
            return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z';
        }

        private boolean delimits(UTF8String text, int at) {
            for (int i = 1; i < delimiter.length; i++) {
                if (at + i >= text.numBytes() || text.getByte(at + i) != delimiter[i]) {
                    return false;
                }
            }
            return true;
        }

        private static UTF8String quoted(UTF8String text, int quotes) {
            byte[] bytes = new byte[text.numBytes() + quotes + 2];
            int size = 0;
            bytes[size++] = '"';
            for (int i = 0; i < text.numBytes(); i++) {
                byte b = text.getByte(i);
                bytes[size++] = b;
                if (b == '"') {
                    bytes[size++] = b;
                }
            }
            bytes[size] = '"';
            return UTF8String.fromBytes(bytes);
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other)
                    && Arrays.equals(((Quote) other).delimiter, delimiter)
                    && ((Quote) other).isFirst == isFirst;
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(delimiter);
        }
    }

    private InternalRow decode(byte[] data) {
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
                    "Unexpected field count: there are "
                            + fields
                            + ", the schema has "
                            + types.length
                            + ".");
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

    private static Object value(byte[] data, int from, int to, DataType type) {
        if (type.equals(DataTypes.StringType)) {
            UTF8String text = UTF8String.fromBytes(data, from, to - from);
            return text.isFullAscii() ? text : UTF8String.fromString(text(data, from, to));
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
        return DecimalField.fit(new BigDecimal(text(data, from, to).trim()), (DecimalType) type);
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
