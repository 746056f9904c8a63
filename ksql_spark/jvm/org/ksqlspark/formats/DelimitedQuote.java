package org.ksqlspark.formats;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.nio.charset.StandardCharsets;

/** A field's text as written: quoted if necessary, by the minimal rules of Commons CSV. */
public final class DelimitedQuote extends FormatFunction<UTF8String> {
    private final byte[] delimiter;
    private final boolean isFirst;

    /**
     * @param argument the delimiter; isFirst: the field begins the line
     */
    public DelimitedQuote(String argument, boolean isFirst) {
        super("quote", DataTypes.StringType, DataTypes.StringType);
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
}
