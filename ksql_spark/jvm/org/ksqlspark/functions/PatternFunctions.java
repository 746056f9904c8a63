package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * LIKE, and functions on text with a Java regular expression (reference §4.2). An invalid pattern
 * or group gives NULL. So does a pattern that takes too many steps (Searched, PatternCost), or that
 * goes too deep: Java matches {@code (a|b)*} with a call for each character.
 */
public final class PatternFunctions {
    private static final Map<UTF8String, Optional<Pattern>> PATTERNS = new ConcurrentHashMap<>();

    private PatternFunctions() {}

    private static Pattern pattern(UTF8String text) {
        return InvokeFunction.remembered(PATTERNS, text, PatternFunctions::compiled);
    }

    private static Pattern compiled(String text) {
        Pattern pattern = Pattern.compile(text);
        if (!PatternCost.isCounted(text)) {
            throw new IllegalArgumentException(text);
        }
        return pattern;
    }

    private static UTF8String utf8(String text) {
        return text == null ? null : UTF8String.fromString(text);
    }

    /** (pattern, text, group): the first match, or a group of it. */
    public static final class Extract extends InvokeFunction<UTF8String> {
        public Extract() {
            super(
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType);
        }

        public UTF8String invoke(UTF8String pattern, UTF8String text, int group) {
            Pattern known = pattern(pattern);
            if (known == null || text == null) {
                return null;
            }
            try {
                Matcher matcher = known.matcher(new Searched(text.toString()));
                boolean isThere = group >= 0 && group <= matcher.groupCount() && matcher.find();
                return isThere ? utf8(matcher.group(group)) : null;
            } catch (Searched.GaveUp | StackOverflowError tooMuch) {
                return null;
            }
        }
    }

    /** (pattern, text): whether Extract has no result because it gave up. */
    public static final class GivesUp extends InvokeFunction<Boolean> {
        public GivesUp() {
            super(DataTypes.BooleanType, DataTypes.StringType, DataTypes.StringType);
        }

        public boolean invoke(UTF8String pattern, UTF8String text) {
            Pattern known = pattern(pattern);
            if (known == null || text == null) {
                return false;
            }
            try {
                known.matcher(new Searched(text.toString())).find();
                return false;
            } catch (Searched.GaveUp | StackOverflowError tooMuch) {
                return true;
            }
        }
    }

    /** (pattern, text, group): all matches, or a group of each. */
    public static final class ExtractAll extends LimitedFunction<ArrayData> {
        public ExtractAll(Limits limits) {
            super(
                    limits,
                    DataTypes.createArrayType(DataTypes.StringType),
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.IntegerType);
        }

        public ArrayData invoke(UTF8String pattern, UTF8String text, int group) {
            Pattern known = pattern(pattern);
            if (known == null || text == null) {
                return null;
            }
            try {
                return all(known.matcher(new Searched(text.toString())), group);
            } catch (Searched.GaveUp | StackOverflowError tooMuch) {
                return null;
            }
        }

        private ArrayData all(Matcher matcher, int group) {
            if (group > matcher.groupCount()) {
                return null;
            }
            List<UTF8String> found = new ArrayList<>();
            long size = 0;
            while (matcher.find()) {
                if (group < 0) { // an error only where there is a match to ask for it
                    return null;
                }
                UTF8String piece = utf8(matcher.group(group));
                found.add(piece);
                // what is looked ahead at may be in many matches
                size += piece == null ? 0 : piece.numBytes();
                if (!limits.allowElements(found.size()) || !limits.allowBytes(size)) {
                    return null;
                }
            }
            return Utf16Functions.array(found);
        }
    }

    /** (text, pattern, replacement). */
    public static final class Replace extends LimitedFunction<UTF8String> {
        public Replace(Limits limits) {
            super(
                    limits,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String text, UTF8String pattern, UTF8String replacement) {
            Pattern known = pattern(pattern);
            if (known == null || text == null || replacement == null) {
                return null;
            }
            try {
                Matcher matcher = known.matcher(new Searched(text.toString()));
                return replaced(matcher, text, replacement.toString());
            } catch (IllegalArgumentException | IndexOutOfBoundsException noSuchGroup) {
                return null;
            } catch (Searched.GaveUp | StackOverflowError tooMuch) {
                return null;
            }
        }

        private UTF8String replaced(Matcher matcher, UTF8String text, String replacement) {
            if (!matcher.find()) {
                return text;
            }
            long references = replacement.chars().filter(c -> c == '$').count();
            StringBuilder all = new StringBuilder(text.numBytes());
            do {
                // at most: a reference, of two characters or more, stands for no more than a group
                long more =
                        replacement.length() + references * (longest(matcher, references > 0) - 2);
                if (!limits.allowBytes(all.length() + more)) {
                    return null;
                }
                matcher.appendReplacement(all, replacement);
            } while (matcher.find());
            UTF8String done = utf8(matcher.appendTail(all).toString());
            return done.numBytes() <= text.numBytes() || limits.allowBytes(done.numBytes())
                    ? done
                    : null;
        }

        /** How long a group of the match at hand is at most. */
        private static long longest(Matcher matcher, boolean isNeeded) {
            int longest = 1;
            for (int i = 0; isNeeded && i <= matcher.groupCount(); i++) {
                longest = Math.max(longest, matcher.end(i) - matcher.start(i));
            }
            return longest;
        }
    }

    /** (text, pattern): the parts between matches. */
    public static final class Split extends LimitedFunction<ArrayData> {
        public Split(Limits limits) {
            super(
                    limits,
                    DataTypes.createArrayType(DataTypes.StringType),
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public ArrayData invoke(UTF8String text, UTF8String pattern) {
            Pattern known = pattern(pattern);
            if (known == null || text == null) {
                return null;
            }
            try {
                return pieces(known, text.toString());
            } catch (Searched.GaveUp | StackOverflowError tooMuch) {
                return null;
            }
        }

        private ArrayData pieces(Pattern known, String string) {
            Searched searched = new Searched(string);
            List<UTF8String> pieces = new ArrayList<>();
            if (known.matcher("")
                    .matches()) { // such a pattern matches everywhere: Java's own way to split
                if (!limits.allowElements(string.length()) && isTooOften(known.matcher(searched))) {
                    return null;
                }
                for (String piece : known.split(searched)) {
                    pieces.add(utf8(piece));
                }
                return Utf16Functions.array(pieces);
            }
            Matcher matcher = known.matcher(searched);
            int from = 0;
            while (matcher.find()) {
                // an empty match splits nothing off the start
                if (matcher.end() > from) {
                    pieces.add(utf8(string.substring(from, matcher.start())));
                    from = matcher.end();
                    if (!limits.allowElements(pieces.size() + 1L)) {
                        return null;
                    }
                }
            }
            pieces.add(utf8(string.substring(from)));
            return Utf16Functions.array(pieces);
        }

        private boolean isTooOften(Matcher matcher) {
            int count = 0;
            while (limits.allowElements(count) && matcher.find()) {
                count++;
            }
            return !limits.allowElements(count);
        }
    }

    /**
     * LIKE with a constant pattern, which is in the function's name: length of the escape, escape,
     * pattern.
     */
    public static final class LikeConstant extends InvokeFunction<Boolean> {
        private static final long LOW_BITS = 0x0101010101010101L;
        private static final long HIGH_BITS = 0x8080808080808080L;

        private final String argument;
        private final int[] steps;

        /** The constant part, without the % at both ends; null if it contains wildcards. */
        private final transient UTF8String constant;

        private final boolean fromStart;
        private final boolean toEnd;

        public LikeConstant(String argument) {
            super(DataTypes.BooleanType, DataTypes.StringType);
            this.argument = argument;
            int from = 1 + argument.charAt(0) - '0';
            this.steps =
                    Like.steps(
                            UTF8String.fromString(argument.substring(from)),
                            UTF8String.fromString(argument.substring(1, from)));
            int size = steps == null ? 0 : steps.length;
            this.fromStart = size == 0 || steps[0] != Like.ANY_RUN;
            this.toEnd = size == 0 || steps[size - 1] != Like.ANY_RUN;
            this.constant =
                    steps == null
                            ? null
                            : constant(
                                    fromStart ? 0 : 1,
                                    toEnd || size == 1 && !fromStart ? size : size - 1);
        }

        private UTF8String constant(int from, int to) {
            byte[] bytes = new byte[to - from];
            for (int i = from; i < to; i++) {
                if (steps[i] < 0) {
                    return null;
                }
                bytes[i - from] = (byte) steps[i];
            }
            return UTF8String.fromBytes(bytes);
        }

        /** Spark transfers functions by Java serialization. */
        private Object readResolve() {
            return new LikeConstant(argument);
        }

        public Boolean invoke(UTF8String text) {
            if (text == null || steps == null) {
                return null;
            }
            if (constant == null || !isOneLine(text) || isSlow(text)) {
                return Like.matches(text, steps);
            }
            return fromStart
                    ? toEnd ? text.equals(constant) : text.startsWith(constant)
                    : toEnd ? text.endsWith(constant) : text.contains(constant);
        }

        /** Whether looking for the constant part at each place may take more steps than allowed. */
        private boolean isSlow(UTF8String text) {
            long steps = (long) text.numBytes() * constant.numBytes();
            return !fromStart && !toEnd && steps > Searched.allowed(text.numBytes());
        }

        /**
         * Whether a text certainly contains no line end: it is ASCII without line feed and carriage
         * return.
         */
        private static boolean isOneLine(UTF8String text) {
            Object base = text.getBaseObject();
            long at = text.getBaseOffset();
            long end = at + text.numBytes();
            for (; at + 8 <= end; at += 8) {
                long bytes = Platform.getLong(base, at);
                long feed = bytes ^ LOW_BITS * '\n';
                long carriage = bytes ^ LOW_BITS * '\r';
                // a byte that is 0 borrows from its highest bit
                if (((feed - LOW_BITS & ~feed | carriage - LOW_BITS & ~carriage | bytes)
                                & HIGH_BITS)
                        != 0) {
                    return false;
                }
            }
            for (; at < end; at++) {
                byte b = Platform.getByte(base, at);
                if (b < 0 || b == '\n' || b == '\r') {
                    return false;
                }
            }
            return true;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((LikeConstant) other).argument.equals(argument);
        }

        @Override
        public int hashCode() {
            return argument.hashCode();
        }
    }

    /**
     * (text, pattern, escape): LIKE. As in ksqlDB, % and _ do not match a line end, and a character
     * after an escape matches itself.
     */
    public static final class Like extends InvokeFunction<Boolean> {
        private static final int ANY_RUN = -1;
        private static final int ANY_ONE = -2;

        /** The last pattern, which nearly always is the only one. */
        private transient Known last;

        public Like() {
            super(
                    DataTypes.BooleanType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        /** A parsed pattern: bytes and wildcards; null if it ends with an escape. */
        private record Known(UTF8String pattern, UTF8String escape, int[] steps) {}

        public Boolean invoke(UTF8String text, UTF8String pattern, UTF8String escape) {
            if (text == null || pattern == null || escape == null) {
                return null;
            }
            Known known = last;
            if (known == null || !known.pattern.equals(pattern) || !known.escape.equals(escape)) {
                known = new Known(pattern.copy(), escape.copy(), steps(pattern, escape));
                last = known;
            }
            return known.steps == null ? null : matches(text, known.steps);
        }

        private static int[] steps(UTF8String pattern, UTF8String escape) {
            byte[] bytes = pattern.getBytes();
            byte[] sign = escape.getBytes();
            int[] steps = new int[bytes.length];
            int size = 0;
            for (int i = 0; i < bytes.length; i++) {
                boolean isEscape =
                        sign.length > 0
                                && i + sign.length <= bytes.length
                                && java.util.Arrays.equals(
                                        bytes, i, i + sign.length, sign, 0, sign.length);
                if (isEscape) {
                    i += sign.length;
                    if (i == bytes.length) {
                        return null;
                    }
                    steps[size++] = bytes[i] & 0xFF;
                } else if (bytes[i] == '%') {
                    if (size == 0 || steps[size - 1] != ANY_RUN) {
                        steps[size++] = ANY_RUN;
                    }
                } else {
                    steps[size++] = bytes[i] == '_' ? ANY_ONE : bytes[i] & 0xFF;
                }
            }
            return java.util.Arrays.copyOf(steps, size);
        }

        /**
         * Continues from the last %, one character later, if the rest does not match. After too
         * many steps it gives up: null.
         */
        private static Boolean matches(UTF8String text, int[] steps) {
            int size = text.numBytes();
            long left = Searched.allowed(size);
            int at = 0;
            int step = 0;
            int run = -1;
            int runAt = 0;
            while (true) {
                if (--left < 0) {
                    return null;
                }
                if (step < steps.length && steps[step] == ANY_RUN) {
                    run = ++step;
                    runAt = at;
                    if (step == steps.length) { // all the rest, unless a line ends there
                        while (at < size && character(text, at, size) > 0) {
                            at += character(text, at, size);
                        }
                        return at == size;
                    }
                } else if (step == steps.length
                        ? at == size
                        : at < size && fits(text, at, size, steps[step])) {
                    if (step == steps.length) {
                        return true;
                    }
                    at += steps[step] == ANY_ONE ? character(text, at, size) : 1;
                    step++;
                } else {
                    int length = run < 0 || runAt >= size ? 0 : character(text, runAt, size);
                    if (length == 0) {
                        return false;
                    }
                    runAt += length;
                    at = runAt;
                    step = run;
                }
            }
        }

        private static boolean fits(UTF8String text, int at, int size, int step) {
            return step == ANY_ONE
                    ? character(text, at, size) > 0
                    : (text.getByte(at) & 0xFF) == step;
        }

        /** The size of the character in bytes; 0 for a line end. */
        private static int character(UTF8String text, int at, int size) {
            byte b = text.getByte(at);
            if (b >= 0) {
                return b == '\n' || b == '\r' ? 0 : 1;
            }
            int length = Math.min(UTF8String.numBytesForFirstByte(b), size - at);
            if (b == (byte) 0xC2 && length == 2 && text.getByte(at + 1) == (byte) 0x85) {
                return 0;
            }
            boolean isSeparator =
                    b == (byte) 0xE2
                            && length == 3
                            && text.getByte(at + 1) == (byte) 0x80
                            && (text.getByte(at + 2) & 0xFE) == 0xA8;
            return isSeparator ? 0 : length;
        }
    }
}
