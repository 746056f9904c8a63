package org.ksqlspark.functions;

import org.apache.commons.lang3.ArrayUtils;
import org.apache.commons.lang3.StringUtils;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Functions on text that count UTF-16 units, as Java's strings do (reference §4.2). ASCII text is
 * processed as it is, other text as a Java string. Half of a character beyond U+FFFF becomes a
 * question mark in the result, because UTF-8 cannot encode it.
 */
public final class Utf16Functions {
    private static final Pattern WORD = Pattern.compile("[^\\s]+\\s*");
    private static final Pattern EMPTY = Pattern.compile("");

    private Utf16Functions() {}

    /** The number of units of a text. */
    static int length(UTF8String text) {
        return text.isFullAscii() ? text.numBytes() : text.toString().length();
    }

    /** A part of ASCII text. */
    private static UTF8String part(UTF8String text, int start, int end) {
        return UTF8String.fromAddress(
                text.getBaseObject(), text.getBaseOffset() + start, end - start);
    }

    private static UTF8String utf8(String text) {
        return UTF8String.fromString(text);
    }

    /** LEN. */
    public static final class Length extends InvokeFunction<Integer> {
        public Length() {
            super(DataTypes.IntegerType, DataTypes.StringType);
        }

        public Integer invoke(UTF8String text) {
            return text == null ? null : Integer.valueOf(length(text));
        }
    }

    /** (text, position, length): SUBSTRING. */
    public static final class Substring extends InvokeFunction<UTF8String> {
        public Substring() {
            super(
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType,
                    DataTypes.IntegerType);
        }

        public UTF8String invoke(UTF8String text, int position, int length) {
            if (text == null) {
                return null;
            }
            if (text.isFullAscii()) {
                int start = start(text.numBytes(), position);
                return part(text, start, end(text.numBytes(), start, length));
            }
            String string = text.toString();
            int start = start(string.length(), position);
            return utf8(string.substring(start, end(string.length(), start, length)));
        }

        private static int start(int size, int position) {
            return position < 0
                    ? Math.max(size + position, 0)
                    : Math.max(Math.min(position - 1, size), 0);
        }

        private static int end(int size, int start, int length) {
            return (int) Math.max(Math.min((long) start + length, size), start);
        }
    }

    /** (text, length, padding): LPAD and RPAD. */
    public static final class Pad extends LimitedFunction<UTF8String> {
        private final boolean left;

        public Pad(Limits limits, boolean left) {
            super(
                    limits,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType,
                    DataTypes.StringType);
            this.left = left;
        }

        public UTF8String invoke(UTF8String text, int length, UTF8String padding) {
            if (text == null || padding == null || padding.numBytes() == 0 || length < 0) {
                return null;
            }
            if (text.isFullAscii() && padding.isFullAscii()) {
                if (length > text.numBytes() && !limits.allowBytes(length)) {
                    return null;
                }
                return left ? text.lpad(length, padding) : text.rpad(length, padding);
            }
            String string = text.toString();
            String filling = padding.toString();
            if (length > string.length() && !limits.allowBytes(size(text, padding, length))) {
                return null;
            }
            String padded =
                    left
                            ? StringUtils.leftPad(string, length, filling)
                            : StringUtils.rightPad(string, length, filling);
            return utf8(padded.substring(0, length));
        }

        /** How many bytes a padded text has, to within one padding. */
        private static long size(UTF8String text, UTF8String padding, int length) {
            long times = (length - length(text)) / length(padding);
            return text.numBytes() + times * padding.numBytes();
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Pad) other).left == left;
        }

        @Override
        public int hashCode() {
            return super.hashCode() + (left ? 1 : 0);
        }
    }

    /** (text, part, position, occurrence): INSTR; 0 if the part is not found. */
    public static final class Position extends InvokeFunction<Integer> {
        public Position() {
            super(
                    DataTypes.IntegerType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType,
                    DataTypes.IntegerType);
        }

        public int invoke(UTF8String text, UTF8String part, int position, int occurrence) {
            if (text == null || part == null || position == 0 || occurrence < 1) {
                return 0;
            }
            if (position == 1 && occurrence == 1 && text.isFullAscii()) {
                return text.numBytes() == 0 ? 0 : text.indexOf(part, 0) + 1;
            }
            String string = text.toString();
            String wanted = part.toString();
            if (Math.abs((long) position) > string.length()) {
                return 0;
            }
            // backwards, a match has to end at the position or before it
            int at = position > 0 ? position - 2 : string.length() + position - wanted.length() + 2;
            for (int i = 0; i < occurrence; i++) {
                at =
                        position > 0
                                ? string.indexOf(wanted, at + 1)
                                : string.lastIndexOf(wanted, at - 1);
                if (at < 0) {
                    return 0;
                }
            }
            return at + 1;
        }
    }

    /** INITCAP. */
    public static final class InitialCapitals extends InvokeFunction<UTF8String> {
        public InitialCapitals() {
            super(DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String text) {
            if (text == null) {
                return null;
            }
            StringBuilder capitals = new StringBuilder();
            Matcher word = WORD.matcher(text.toString().toLowerCase(Locale.ROOT));
            while (word.find()) {
                String found = word.group();
                capitals.append(found.substring(0, 1).toUpperCase(Locale.ROOT));
                capitals.append(found, 1, found.length());
            }
            return utf8(capitals.toString());
        }
    }

    /** TRIM: removes characters up to U+0020 at both ends. */
    public static final class Trim extends InvokeFunction<UTF8String> {
        public Trim() {
            super(DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String text) {
            if (text == null) {
                return null;
            }
            int start = 0;
            int end = text.numBytes();
            while (start < end && isBlank(text.getByte(start))) {
                start++;
            }
            while (start < end && isBlank(text.getByte(end - 1))) {
                end--;
            }
            return end - start == text.numBytes() ? text : part(text, start, end);
        }

        private static boolean isBlank(byte b) {
            return b >= 0 && b <= ' ';
        }
    }

    /** (text, delimiter): SPLIT; an empty delimiter splits into units. */
    public static final class Split extends LimitedFunction<ArrayData> {
        public Split(Limits limits) {
            super(
                    limits,
                    DataTypes.createArrayType(DataTypes.StringType),
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public ArrayData invoke(UTF8String text, UTF8String delimiter) {
            if (text == null || delimiter == null) {
                return null;
            }
            List<UTF8String> found =
                    delimiter.numBytes() == 0
                            ? units(text)
                            : pieces(text, delimiter, limits.maxElements());
            return found == null ? null : array(found);
        }

        private List<UTF8String> units(UTF8String text) {
            if (!limits.allowElements(length(text))) {
                return null;
            }
            List<UTF8String> units = new ArrayList<>();
            for (String unit : EMPTY.split(text.toString())) {
                units.add(utf8(unit));
            }
            return units;
        }
    }

    /**
     * The pieces of a text between delimiters, which are not empty; null for more than {@code
     * most}.
     */
    static List<UTF8String> pieces(UTF8String text, UTF8String delimiter, int most) {
        List<UTF8String> pieces = new ArrayList<>();
        int from = 0;
        for (int at; (at = text.find(delimiter, from)) >= 0; from = at + delimiter.numBytes()) {
            if (pieces.size() >= most) {
                return null;
            }
            pieces.add(part(text, from, at));
        }
        pieces.add(part(text, from, text.numBytes()));
        return pieces.size() <= most ? pieces : null;
    }

    static ArrayData array(List<UTF8String> texts) {
        return new GenericArrayData(texts.toArray());
    }

    /** (text, between entries, between key and value): SPLIT_TO_MAP. */
    public static final class SplitToMap extends LimitedFunction<MapData> {
        public SplitToMap(Limits limits) {
            super(
                    limits,
                    DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType),
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public MapData invoke(UTF8String text, UTF8String entry, UTF8String assign) {
            boolean isPossible =
                    text != null
                            && entry != null
                            && assign != null
                            && entry.numBytes() > 0
                            && assign.numBytes() > 0
                            && !entry.equals(assign);
            if (!isPossible) {
                return null;
            }
            List<UTF8String> pieces = pieces(text, entry, limits.maxElements());
            if (pieces == null) {
                return null;
            }
            Map<UTF8String, UTF8String> entries = new LinkedHashMap<>();
            for (UTF8String piece : pieces) {
                int at = piece.find(assign, 0);
                if (at >= 0) {
                    int end = piece.find(assign, at + assign.numBytes());
                    end = end < 0 ? piece.numBytes() : end;
                    entries.put(part(piece, 0, at), part(piece, at + assign.numBytes(), end));
                }
            }
            return new ArrayBasedMapData(
                    new GenericArrayData(entries.keySet().toArray()),
                    new GenericArrayData(entries.values().toArray()));
        }
    }

    /**
     * (text, count, upper, lower, digit, other): the text with some of its units masked by their
     * kind. A NULL mask keeps units; a mask of more than one unit is invalid.
     */
    public static final class Mask extends InvokeFunction<UTF8String> {
        private static final int NONE = Integer.MAX_VALUE;
        private static final int WRONG = -1;

        private final String kind;

        /**
         * @param kind ALL, LEFT, RIGHT, KEEP_LEFT or KEEP_RIGHT
         */
        public Mask(String kind) {
            super(
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType);
            this.kind = kind;
        }

        public UTF8String invoke(
                UTF8String text,
                int count,
                UTF8String upper,
                UTF8String lower,
                UTF8String digit,
                UTF8String other) {
            int[] marks = {mark(upper), mark(lower), mark(digit), mark(other)};
            if (text == null || count < 0 || ArrayUtils.contains(marks, WRONG)) {
                return null;
            }
            return masked(text.toString(), count, marks);
        }

        private int first(int size, int count) {
            return kind.equals("KEEP_LEFT")
                    ? Math.min(count, size)
                    : kind.equals("RIGHT") ? Math.max(size - count, 0) : 0;
        }

        private int last(int size, int count) {
            return kind.equals("LEFT")
                    ? Math.min(count, size)
                    : kind.equals("KEEP_RIGHT") ? Math.max(size - count, 0) : size;
        }

        private UTF8String masked(String text, int count, int[] marks) {
            int first = first(text.length(), count);
            int last = last(text.length(), count);
            String within = text.substring(first, last);
            StringBuilder masked = new StringBuilder(text.length()).append(text, 0, first);
            for (int i = 0; i < within.length(); i++) {
                // at the first half of a character this is all of it, at the second one that half
                int c = within.codePointAt(i);
                int mark = marks[kind(c)];
                masked.appendCodePoint(mark == NONE ? c : mark);
            }
            return utf8(masked.append(text, last, text.length()).toString());
        }

        private static int kind(int c) {
            switch (Character.getType(c)) {
                case Character.UPPERCASE_LETTER:
                    return 0;
                case Character.LOWERCASE_LETTER:
                    return 1;
                case Character.DECIMAL_DIGIT_NUMBER:
                    return 2;
                default:
                    return 3;
            }
        }

        private static int mark(UTF8String text) {
            if (text == null) {
                return NONE;
            }
            if (text.numBytes() == 1) {
                return text.getByte(0);
            }
            String string = text.toString();
            return string.length() == 1 ? string.charAt(0) : WRONG;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Mask) other).kind.equals(kind);
        }

        @Override
        public int hashCode() {
            return kind.hashCode();
        }
    }

    /** The character of a code point; NULL if there is none. */
    public static final class CodePoint extends InvokeFunction<UTF8String> {
        public CodePoint() {
            super(DataTypes.StringType, DataTypes.IntegerType);
        }

        public UTF8String invoke(int code) {
            return Character.isValidCodePoint(code) ? utf8(Character.toString(code)) : null;
        }
    }
}
