package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataTypes;

import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Map;

/**
 * Windows that follow each other by the calendar and the clock of a zone (reference §2.6); {@code
 * Calendar} in Python computes the same. Times are in ms since 1970.
 *
 * <p>A bound that the clock skips is as much later as the clock is put forward; of two equal times,
 * the first is the bound. No window begins before 1970, as in Kafka Streams.
 */
public final class CalendarWindows implements Serializable {
    private static final Map<String, Long> UNITS =
            Map.of(
                    "MILLISECONDS", 1L,
                    "SECONDS", 1_000L,
                    "MINUTES", 60_000L,
                    "HOURS", 3_600_000L,
                    "DAYS", 86_400_000L,
                    "WEEKS", 604_800_000L);

    /** The Monday before 1970, as ms on a clock. */
    private static final long MONDAY = -3 * 86_400_000L;

    /** The latest time of a record. */
    private static final long LATEST = Long.MAX_VALUE / 1000;

    private final String text;

    /** How long a window is: months, or ms on a clock. */
    private final long months;

    private final long length;

    private final long offsetMonths;

    /** How many ms on a clock after the beginning of its month, week … a window begins. */
    private final long offset;

    private final ZoneId zone;

    /** The last window: nearly always the one that is asked for. */
    private transient Window last;

    private record Window(long start, long end) {}

    /**
     * @param text as {@code Calendar} in Python writes it: amount, unit, months and ms of the
     *     offset, zone
     */
    public CalendarWindows(String text) {
        this.text = text;
        String[] parts = text.split(" ");
        long amount = Long.parseLong(parts[0]);
        String unit = parts[1];
        months = unit.equals("YEARS") ? 12 * amount : unit.equals("MONTHS") ? amount : 0;
        length = months > 0 ? 0 : amount * UNITS.get(unit);
        offsetMonths = Long.parseLong(parts[2]);
        offset = Long.parseLong(parts[3]) + (unit.equals("WEEKS") ? MONDAY : 0);
        zone = ZoneId.of(parts[4]);
    }

    /** The start of the window that a time is in. */
    public long start(long ts) {
        return of(ts).start;
    }

    /** The end of the window that a time is in, which is the start of the next one. */
    public long end(long ts) {
        return of(ts).end;
    }

    private Window of(long ts) {
        Window found = last;
        if (found == null || ts < found.start || ts >= found.end) {
            long number = number(ts);
            while (begin(number) > ts) {
                number--;
            }
            while (begin(number + 1) <= ts) {
                number++;
            }
            found = new Window(Math.max(0, begin(number)), begin(number + 1));
            last = found;
        }
        return found;
    }

    /** The number of a time's window; the next one's or the one's before it near its bounds. */
    private long number(long ts) {
        Instant instant = Instant.ofEpochMilli(ts);
        long clock = ts + 1000L * zone.getRules().getOffset(instant).getTotalSeconds() - offset;
        if (months == 0) {
            return Math.floorDiv(clock, length);
        }
        LocalDate day = LocalDate.ofEpochDay(Math.floorDiv(clock, 86_400_000L));
        long month = (day.getYear() - 1970) * 12L + day.getMonthValue() - 1;
        return Math.floorDiv(month - offsetMonths, months);
    }

    private long begin(long number) {
        long clock = offset;
        if (months == 0) {
            clock += number * length;
        } else {
            LocalDate first = LocalDate.EPOCH.plusMonths(number * months + offsetMonths);
            clock += first.toEpochDay() * 86_400_000L;
        }
        LocalDateTime local =
                LocalDateTime.ofEpochSecond(
                        Math.floorDiv(clock, 1000L),
                        (int) Math.floorMod(clock, 1000L) * 1_000_000,
                        ZoneOffset.UTC);
        return ZonedDateTime.ofLocal(local, zone, null).toInstant().toEpochMilli();
    }

    /** (start of a window) to its end, both in ms. */
    public static final class End extends InvokeFunction<Long> {
        private final CalendarWindows windows;

        public End(String windows) {
            super(DataTypes.LongType, DataTypes.LongType);
            this.windows = new CalendarWindows(windows);
        }

        /** No window has another start. */
        public long invoke(long start) {
            return start < 0 || start > LATEST ? start : windows.end(start);
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((End) other).windows.text.equals(windows.text);
        }

        @Override
        public int hashCode() {
            return windows.text.hashCode();
        }
    }
}
