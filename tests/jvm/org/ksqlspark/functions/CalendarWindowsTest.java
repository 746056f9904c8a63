package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Instant;

class CalendarWindowsTest {
    private static long ms(String instant) {
        return Instant.parse(instant).toEpochMilli();
    }

    @ParameterizedTest
    @CsvSource({
        // days of 23 and 25 hours
        "1 DAYS 0 0 Europe/Berlin,2026-03-29T12:00:00Z,2026-03-28T23:00:00Z,2026-03-29T22:00:00Z",
        "1 DAYS 0 0 Europe/Berlin,2026-10-25T00:30:00Z,2026-10-24T22:00:00Z,2026-10-25T23:00:00Z",
        "1 DAYS 0 0"
            + " Europe/Berlin,2026-10-25T22:59:59.999Z,2026-10-24T22:00:00Z,2026-10-25T23:00:00Z",
        "1 DAYS 0 0 Europe/Berlin,2026-10-25T23:00:00Z,2026-10-25T23:00:00Z,2026-10-26T23:00:00Z",
        // half an hour, and offsets that are not whole hours
        "1 DAYS 0 0"
            + " Australia/Lord_Howe,2026-04-04T15:00:00Z,2026-04-04T13:00:00Z,2026-04-05T13:30:00Z",
        "1 DAYS 0 0"
            + " America/St_Johns,2026-03-08T12:00:00Z,2026-03-08T03:30:00Z,2026-03-09T02:30:00Z",
        "1 DAYS 0 0 Asia/Kathmandu,2026-01-01T18:15:00Z,2026-01-01T18:15:00Z,2026-01-02T18:15:00Z",
        // a midnight that the clock skips, and a day that a zone skips
        "1 DAYS 0 0 Asia/Beirut,2026-03-28T22:00:00Z,2026-03-28T22:00:00Z,2026-03-29T21:00:00Z",
        "1 DAYS 0 0 Pacific/Apia,2011-12-30T12:00:00Z,2011-12-30T10:00:00Z,2011-12-31T10:00:00Z",
        "1 DAYS 0 0 Pacific/Apia,2011-12-30T09:59:59Z,2011-12-29T10:00:00Z,2011-12-30T10:00:00Z",
        // an offset that the clock skips, and one that it has twice
        "1 DAYS 0 9000000"
                + " Europe/Berlin,2026-03-29T12:00:00Z,2026-03-29T01:30:00Z,2026-03-30T00:30:00Z",
        "1 DAYS 0 9000000"
                + " Europe/Berlin,2026-10-25T01:10:00Z,2026-10-25T00:30:00Z,2026-10-26T01:30:00Z",
        "1 DAYS 0 9000000"
                + " Europe/Berlin,2026-10-25T00:29:59Z,2026-10-24T00:30:00Z,2026-10-25T00:30:00Z",
        // weeks begin on Monday
        "1 WEEKS 0 0 UTC,2026-11-27T00:00:00Z,2026-11-23T00:00:00Z,2026-11-30T00:00:00Z",
        "1 WEEKS 0 86400000 UTC,2026-11-23T00:00:00Z,2026-11-17T00:00:00Z,2026-11-24T00:00:00Z",
        "1 MONTHS 0 0 Europe/Berlin,2024-02-29T22:59:59Z,2024-01-31T23:00:00Z,2024-02-29T23:00:00Z",
        "3 MONTHS 0 0 UTC,2026-11-27T00:00:00Z,2026-10-01T00:00:00Z,2027-01-01T00:00:00Z",
        "1 MONTHS 0 432000000 UTC,2026-03-05T00:00:00Z,2026-02-06T00:00:00Z,2026-03-06T00:00:00Z",
        "1 YEARS 3 0 UTC,2026-03-31T23:00:00Z,2025-04-01T00:00:00Z,2026-04-01T00:00:00Z",
        "10 YEARS 0 0 UTC,2026-03-31T23:00:00Z,2020-01-01T00:00:00Z,2030-01-01T00:00:00Z",
        "1 DAYS 0 21600000 UTC,2026-03-31T05:59:59Z,2026-03-30T06:00:00Z,2026-03-31T06:00:00Z",
        // none begins before 1970
        "1 DAYS 0 21600000 UTC,1970-01-01T01:00:00Z,1970-01-01T00:00:00Z,1970-01-01T06:00:00Z",
        "1 DAYS 0 0 Asia/Tokyo,1970-01-01T00:00:00Z,1970-01-01T00:00:00Z,1970-01-01T15:00:00Z",
    })
    void aTimeIsInOneWindow(String windows, String time, String start, String end) {
        CalendarWindows found = new CalendarWindows(windows);
        assertEquals(ms(start), found.start(ms(time)));
        assertEquals(ms(end), found.end(ms(time)));
        assertEquals(ms(end), new CalendarWindows(windows).end(ms(start)));
        assertEquals(ms(end), found.start(ms(end)));
    }
}
