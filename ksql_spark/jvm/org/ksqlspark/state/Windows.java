package org.ksqlspark.state;

import org.ksqlspark.functions.CalendarWindows;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * The windows of a WINDOW clause that are not sessions (reference §2.6); times in ms. A window has
 * a number: no other has it, and a window that ends later has a greater one. Numbers are in the
 * state.
 */
abstract class Windows implements Serializable {
    /**
     * The number of the first window of a time; following ones are its windows until they start
     * later.
     */
    abstract long first(long ts);

    /** The number of the following window. */
    abstract long next(long number);

    abstract long start(long number);

    abstract long end(long number);

    /**
     * Windows as KeyedOperators.aggregate is asked for them.
     *
     * @param calendar see CalendarWindows; empty: starts are multiples of {@code advance}
     * @param step for CUMULATIVE, see CalendarWindows; empty: the step is {@code advance}
     */
    static Windows of(String kind, long size, long advance, String calendar, String step) {
        if (kind.equals("CUMULATIVE")) {
            return new Cumulative(
                    new CalendarWindows(calendar),
                    step.isEmpty() ? null : new CalendarWindows(step),
                    advance);
        }
        return calendar.isEmpty()
                ? new Regular(size, advance)
                : new ByCalendar(new CalendarWindows(calendar));
    }

    /** TUMBLING and HOPPING: a window's number is its start. */
    private static final class Regular extends Windows {
        private final long size;
        private final long advance;

        Regular(long size, long advance) {
            this.size = size;
            this.advance = advance;
        }

        @Override
        long first(long ts) {
            return Math.max(0, ts - size + advance) / advance * advance;
        }

        @Override
        long next(long number) {
            return number + advance;
        }

        @Override
        long start(long number) {
            return number;
        }

        @Override
        long end(long number) {
            return number + size;
        }
    }

    /** TUMBLING by a calendar: a window's number is its start. */
    private static final class ByCalendar extends Windows {
        private static final int MOST_ENDS = 1000;

        private final CalendarWindows windows;

        /** Of windows that are open, as a calendar takes long. */
        private transient Map<Long, Long> ends;

        ByCalendar(CalendarWindows windows) {
            this.windows = windows;
        }

        @Override
        long first(long ts) {
            return windows.start(ts);
        }

        @Override
        long next(long number) {
            return end(number);
        }

        @Override
        long start(long number) {
            return number;
        }

        @Override
        long end(long number) {
            if (ends == null || ends.size() > MOST_ENDS) {
                ends = new HashMap<>();
            }
            return ends.computeIfAbsent(number, windows::end);
        }
    }

    /** Windows that share a start: each is a step longer. A window's number is its end. */
    private static final class Cumulative extends Windows {
        private final CalendarWindows longest;

        /** Null: {@code length} ms. */
        private final CalendarWindows step;

        private final long length;

        Cumulative(CalendarWindows longest, CalendarWindows step, long length) {
            this.longest = longest;
            this.step = step;
            this.length = length;
        }

        @Override
        long first(long ts) {
            long end =
                    step != null
                            ? step.end(ts)
                            : ts + length - Math.floorMod(ts - longest.start(ts), length);
            return Math.min(end, longest.end(ts));
        }

        @Override
        long next(long number) {
            return first(number);
        }

        @Override
        long start(long number) {
            return longest.start(number - 1);
        }

        @Override
        long end(long number) {
            return number;
        }
    }
}
