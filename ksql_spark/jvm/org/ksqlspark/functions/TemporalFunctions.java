package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.text.ParseException;
import java.text.SimpleDateFormat;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.Temporal;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Dates, times and timestamps to text and back, with Java's patterns (reference §4.6). Invalid
 * values, patterns and zones give NULL.
 */
public final class TemporalFunctions {
    private static final Locale LOCALE = Locale.US;
    private static final DateTimeFormatter TEXT =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS", LOCALE);
    private static final long DAY_MS = 86_400_000L;
    private static final Map<UTF8String, Optional<DateTimeFormatter>> FORMATS =
            new ConcurrentHashMap<>();
    private static final Map<UTF8String, Optional<DateTimeFormatter>> PARSERS =
            new ConcurrentHashMap<>();
    private static final Map<UTF8String, Optional<SimpleDateFormat>> DATES =
            new ConcurrentHashMap<>();
    private static final Map<UTF8String, Optional<ZoneId>> ZONES = new ConcurrentHashMap<>();

    /**
     * Fields of a date or time that a text may contain without the others, those first on which
     * others depend.
     */
    private static final List<ChronoField> DATE_FIELDS =
            List.of(
                    ChronoField.YEAR,
                    ChronoField.YEAR_OF_ERA,
                    ChronoField.MONTH_OF_YEAR,
                    ChronoField.DAY_OF_YEAR,
                    ChronoField.DAY_OF_MONTH);

    private static final List<ChronoField> TIME_FIELDS =
            List.of(
                    ChronoField.HOUR_OF_DAY,
                    ChronoField.AMPM_OF_DAY,
                    ChronoField.HOUR_OF_AMPM,
                    ChronoField.MINUTE_OF_HOUR,
                    ChronoField.SECOND_OF_MINUTE,
                    ChronoField.NANO_OF_SECOND);

    private TemporalFunctions() {}

    private static UTF8String format(TemporalAccessor value, UTF8String pattern) {
        DateTimeFormatter formatter =
                InvokeFunction.remembered(
                        FORMATS, pattern, text -> DateTimeFormatter.ofPattern(text, LOCALE));
        try {
            return formatter == null ? null : UTF8String.fromString(formatter.format(value));
        } catch (DateTimeException notThere) { // the pattern wants what the value does not have
            return null;
        } catch (StackOverflowError tooDeep) { // thousands of [
            return null;
        }
    }

    private static TemporalAccessor parse(UTF8String text, UTF8String pattern) {
        DateTimeFormatter formatter =
                InvokeFunction.remembered(
                        PARSERS,
                        pattern,
                        letters ->
                                new DateTimeFormatterBuilder()
                                        .parseCaseInsensitive()
                                        .appendPattern(letters)
                                        .toFormatter(LOCALE));
        try {
            return text == null || formatter == null ? null : formatter.parse(text.toString());
        } catch (DateTimeException | StackOverflowError bad) {
            return null;
        }
    }

    private static ZoneId zone(UTF8String name) {
        return InvokeFunction.remembered(ZONES, name, ZoneId::of);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Temporal> T with(
            T start, List<ChronoField> fields, TemporalAccessor parsed) {
        Temporal value = start;
        for (ChronoField field : fields) {
            if (parsed.isSupported(field)) {
                value = value.with(field, parsed.getLong(field));
            }
        }
        return (T) value;
    }

    private static Instant instant(long micros) {
        return Instant.ofEpochSecond(
                Math.floorDiv(micros, 1_000_000L), Math.floorMod(micros, 1_000_000L) * 1000);
    }

    /** The text form of a TIMESTAMP (reference §3.1). */
    public static String text(long micros) {
        return TEXT.format(instant(micros).atOffset(ZoneOffset.UTC));
    }

    /** (DATE, pattern) to STRING. */
    public static final class FormatDate extends InvokeFunction<UTF8String> {
        public FormatDate() {
            super(DataTypes.StringType, DataTypes.DateType, DataTypes.StringType);
        }

        public UTF8String invoke(int days, UTF8String pattern) {
            return format(LocalDate.ofEpochDay(days), pattern);
        }
    }

    /** (milliseconds of the day, pattern) to STRING; the end of the day is its start. */
    public static final class FormatTime extends InvokeFunction<UTF8String> {
        public FormatTime() {
            super(DataTypes.StringType, DataTypes.IntegerType, DataTypes.StringType);
        }

        public UTF8String invoke(int millis, UTF8String pattern) {
            return millis < 0 || millis > DAY_MS
                    ? null
                    : format(LocalTime.ofNanoOfDay(millis % DAY_MS * 1_000_000L), pattern);
        }
    }

    /** (TIMESTAMP, pattern, zone) to STRING. */
    public static final class FormatTimestamp extends InvokeFunction<UTF8String> {
        public FormatTimestamp() {
            super(
                    DataTypes.StringType,
                    DataTypes.TimestampType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public UTF8String invoke(long micros, UTF8String pattern, UTF8String zoneName) {
            ZoneId zone = zone(zoneName);
            return zone == null ? null : format(instant(micros).atZone(zone), pattern);
        }
    }

    /**
     * A TIMESTAMP in full, as yyyy-MM-ddTHH:mm:ss with optional milliseconds and Z; NULL for any
     * other text, which may still be valid.
     */
    public static final class FullTimestamp extends InvokeFunction<Long> {
        public FullTimestamp() {
            super(DataTypes.TimestampType, DataTypes.StringType);
        }

        public Long invoke(UTF8String text) {
            int size = text == null ? 0 : text.numBytes();
            if (size > 0 && text.getByte(size - 1) == 'Z') {
                size--;
            }
            boolean hasShape =
                    (size == 19 || size > 20 && size <= 23 && text.getByte(19) == '.')
                            && text.getByte(4) == '-'
                            && text.getByte(7) == '-'
                            && text.getByte(10) == 'T'
                            && text.getByte(13) == ':'
                            && text.getByte(16) == ':';
            if (!hasShape) {
                return null;
            }
            int year = digits(text, 0, 4);
            int month = digits(text, 5, 7);
            int day = digits(text, 8, 10);
            int hour = digits(text, 11, 13);
            int minute = digits(text, 14, 16);
            int second = digits(text, 17, 19);
            int fraction = size == 19 ? 0 : digits(text, 20, size);
            boolean isThere =
                    year > 0
                            && month >= 1
                            && month <= 12
                            && day >= 1
                            && hour >= 0
                            && hour < 24
                            && minute >= 0
                            && minute < 60
                            && second >= 0
                            && second < 60
                            && fraction >= 0
                            && day <= YearMonth.of(year, month).lengthOfMonth();
            if (!isThere) {
                return null;
            }
            for (int i = size; i < 23 && size > 19; i++) {
                fraction *= 10;
            }
            long seconds =
                    LocalDate.of(year, month, day).toEpochDay() * 86_400L
                            + hour * 3600
                            + minute * 60
                            + second;
            return seconds * 1_000_000L + fraction * 1000L;
        }

        /** The number at the position; -1 if there is none. */
        private static int digits(UTF8String text, int from, int to) {
            int value = 0;
            for (int i = from; i < to; i++) {
                int digit = text.getByte(i) - '0';
                if (digit < 0 || digit > 9) {
                    return -1;
                }
                value = value * 10 + digit;
            }
            return value;
        }
    }

    /**
     * (text, pattern) to DATE, by SimpleDateFormat as in ksqlDB; NULL if it includes a time of day.
     */
    public static final class ParseDate extends InvokeFunction<Integer> {
        public ParseDate() {
            super(DataTypes.DateType, DataTypes.StringType, DataTypes.StringType);
        }

        public Integer invoke(UTF8String text, UTF8String pattern) {
            SimpleDateFormat known =
                    InvokeFunction.remembered(
                            DATES,
                            pattern,
                            letters -> {
                                SimpleDateFormat made = new SimpleDateFormat(letters, LOCALE);
                                made.setTimeZone(TimeZone.getTimeZone("GMT"));
                                return made;
                            });
            if (text == null || known == null) {
                return null;
            }
            try {
                Date date =
                        ((SimpleDateFormat) known.clone())
                                .parse(text.toString()); // it is not thread-safe
                return date.getTime() % DAY_MS == 0 ? (int) (date.getTime() / DAY_MS) : null;
            } catch (ParseException bad) {
                return null;
            }
        }
    }

    /** (text, pattern) to the days since 1970-01-01. */
    public static final class ParseDays extends InvokeFunction<Integer> {
        public ParseDays() {
            super(DataTypes.IntegerType, DataTypes.StringType, DataTypes.StringType);
        }

        public Integer invoke(UTF8String text, UTF8String pattern) {
            TemporalAccessor parsed = parse(text, pattern);
            LocalDate date = parsed == null ? null : parsed.query(TemporalQueries.localDate());
            return date == null ? null : (int) date.toEpochDay();
        }
    }

    /** (text, pattern) to the milliseconds of the day; NULL if the pattern has fields of a date. */
    public static final class ParseTime extends InvokeFunction<Integer> {
        public ParseTime() {
            super(DataTypes.IntegerType, DataTypes.StringType, DataTypes.StringType);
        }

        public Integer invoke(UTF8String text, UTF8String pattern) {
            TemporalAccessor parsed = parse(text, pattern);
            if (parsed == null) {
                return null;
            }
            for (ChronoField field : ChronoField.values()) {
                if (field.isDateBased() && parsed.isSupported(field)) {
                    return null;
                }
            }
            LocalTime time = parsed.query(TemporalQueries.localTime());
            return time == null ? null : (int) (time.toNanoOfDay() / 1_000_000);
        }
    }

    /**
     * (text, pattern, zone unless the text has one) to TIMESTAMP; missing fields are those of
     * 1970-01-01T00:00.
     */
    public static final class ParseTimestamp extends InvokeFunction<Long> {
        public ParseTimestamp() {
            super(
                    DataTypes.TimestampType,
                    DataTypes.StringType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public Long invoke(UTF8String text, UTF8String pattern, UTF8String zoneName) {
            TemporalAccessor parsed = parse(text, pattern);
            ZoneId given = zone(zoneName);
            if (parsed == null || given == null) {
                return null;
            }
            ZoneId zone = parsed.query(TemporalQueries.zone());
            LocalDate date = parsed.query(TemporalQueries.localDate());
            LocalTime time = parsed.query(TemporalQueries.localTime());
            try {
                return 1000
                        * ZonedDateTime.of(
                                        date != null
                                                ? date
                                                : with(LocalDate.EPOCH, DATE_FIELDS, parsed),
                                        time != null
                                                ? time
                                                : with(LocalTime.MIDNIGHT, TIME_FIELDS, parsed),
                                        zone != null ? zone : given)
                                .toInstant()
                                .toEpochMilli();
            } catch (DateTimeException | ArithmeticException bad) {
                return null;
            }
        }
    }

    /** (TIMESTAMP, source zone, target zone) to TIMESTAMP, by the offsets at that instant. */
    public static final class ConvertZone extends InvokeFunction<Long> {
        public ConvertZone() {
            super(
                    DataTypes.TimestampType,
                    DataTypes.TimestampType,
                    DataTypes.StringType,
                    DataTypes.StringType);
        }

        public Long invoke(long micros, UTF8String source, UTF8String target) {
            ZoneId from = zone(source);
            ZoneId to = zone(target);
            return from == null || to == null
                    ? null
                    : micros + 1_000_000L * (seconds(to, micros) - seconds(from, micros));
        }

        private static long seconds(ZoneId zone, long micros) {
            ZoneOffset offset = zone.getRules().getOffset(instant(micros));
            return offset.getTotalSeconds();
        }
    }
}
