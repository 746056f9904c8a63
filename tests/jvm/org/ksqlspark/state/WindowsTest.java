package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

class WindowsTest {
    private static final long HOUR = 3_600_000;

    private static long ms(String instant) {
        return Instant.parse(instant).toEpochMilli();
    }

    /** Start and end of each window of a time. */
    private static List<List<Long>> of(Windows windows, long ts) {
        List<List<Long>> found = new ArrayList<>();
        for (long w = windows.first(ts); windows.start(w) <= ts; w = windows.next(w)) {
            found.add(List.of(windows.start(w), windows.end(w)));
        }
        return found;
    }

    @Test
    void regularWindowsStartAtMultiples() {
        Windows hopping = Windows.of("HOPPING", 10, 4, "", "");
        assertEquals(
                List.of(List.of(4L, 14L), List.of(8L, 18L), List.of(12L, 22L)), of(hopping, 13));
        assertEquals(List.of(List.of(0L, 10L)), of(hopping, 3));
        assertEquals(List.of(List.of(10L, 20L)), of(Windows.of("TUMBLING", 10, 10, "", ""), 19));
    }

    @ParameterizedTest
    @CsvSource({
        "2026-03-29T21:30:00Z,6,2026-03-28T23:00:00Z,2026-03-29T22:00:00Z,1",
        "2026-03-28T23:00:00Z,6,2026-03-28T23:00:00Z,2026-03-29T05:00:00Z,4",
        "2026-10-25T22:59:59Z,6,2026-10-24T22:00:00Z,2026-10-25T23:00:00Z,1",
        "2026-10-24T22:00:00Z,6,2026-10-24T22:00:00Z,2026-10-25T04:00:00Z,5"
    })
    void theLastStepOfADayMayBeShorter(
            String time, int hours, String start, String firstEnd, int count) {
        Windows day = Windows.of("CUMULATIVE", 0, hours * HOUR, "1 DAYS 0 0 Europe/Berlin", "");
        List<List<Long>> found = of(day, ms(time));
        assertEquals(count, found.size());
        assertEquals(List.of(ms(start), ms(firstEnd)), found.get(0));
    }

    @Test
    void cumulativeWindowsContainTheirTimeAndShareAStart() {
        Random random = new Random(1);
        Windows month =
                Windows.of(
                        "CUMULATIVE",
                        0,
                        1,
                        "1 MONTHS 0 0 Australia/Lord_Howe",
                        "1 DAYS 0 0 Australia/Lord_Howe");
        Windows days = Windows.of("TUMBLING", 0, 1, "1 DAYS 0 0 Australia/Lord_Howe", "");
        for (int i = 0; i < 1000; i++) {
            long ts = Math.floorMod(random.nextLong(), ms("2040-01-01T00:00:00Z"));
            List<List<Long>> found = of(month, ts);
            long end = days.end(days.first(ts));
            for (List<Long> window : found) {
                assertEquals(found.get(0).get(0), window.get(0));
                assertEquals(end, window.get(1));
                end = days.end(days.first(end));
            }
            long last = found.get(found.size() - 1).get(1);
            assertEquals(last, of(month, last).get(0).get(0));
        }
    }
}
