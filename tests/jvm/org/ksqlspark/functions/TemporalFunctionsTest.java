package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;

class TemporalFunctionsTest {
    private static UTF8String utf8(String text) {
        return UTF8String.fromString(text);
    }

    private static long micros(String instant) {
        return Instant.parse(instant).toEpochMilli() * 1000;
    }

    @Test
    void aTimestampsTextHasMilliseconds() {
        assertEquals(
                "2020-05-01T10:20:30.004",
                TemporalFunctions.text(micros("2020-05-01T10:20:30.004Z")));
        assertEquals("1969-12-31T23:59:59.999", TemporalFunctions.text(-1000));
    }

    @ParameterizedTest
    @CsvSource({
        "2020-05-01T10:20:30,2020-05-01T10:20:30Z",
        "2020-05-01T10:20:30.5,2020-05-01T10:20:30.500Z",
        "2020-05-01T10:20:30.004Z,2020-05-01T10:20:30.004Z",
        "2020-02-29T00:00:00,2020-02-29T00:00:00Z"
    })
    void aFullTimestampIsReadWithoutAPattern(String text, String instant) {
        assertEquals(micros(instant), new TemporalFunctions.FullTimestamp().invoke(utf8(text)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Z",
                "2020-05-01",
                "2021-02-29T00:00:00",
                "2020-05-01T24:00:00",
                "2020-05-01 10:20:30",
                "2020-05-01T10:20:30.",
                "2020-05-01T10:20:30.0004",
                "2020-05-01T1x:20:30"
            })
    void otherTextIsLeftToTheGeneralWay(String text) {
        assertNull(new TemporalFunctions.FullTimestamp().invoke(utf8(text)));
    }

    @ParameterizedTest
    @CsvSource({"0,00:00", "86399999,23:59", "86400000,00:00", "86400001,", "-1,", "2147483647,"})
    void aTimeOutsideOfADayHasNoText(int millis, String text) {
        UTF8String found = new TemporalFunctions.FormatTime().invoke(millis, utf8("HH:mm"));
        assertEquals(text == null ? null : utf8(text), found);
    }

    @Test
    void formatsAndParsesByJavasLetters() {
        UTF8String pattern = utf8("yyyy-MM-dd HH:mm:ss.SSS z");
        UTF8String text = utf8("2020-07-01 12:00:00.000 CEST");
        UTF8String zone = utf8("Europe/Berlin");
        long micros = micros("2020-07-01T10:00:00Z");
        assertEquals(text, new TemporalFunctions.FormatTimestamp().invoke(micros, pattern, zone));
        assertEquals(
                micros,
                new TemporalFunctions.ParseTimestamp().invoke(text, pattern, utf8("UTC")),
                "the zone in the text wins");
    }

    @Test
    void whatIsMissingIsOfTheFirstOfJanuary1970() {
        assertEquals(
                micros("1970-01-01T07:30:00Z"),
                new TemporalFunctions.ParseTimestamp()
                        .invoke(utf8("7:30"), utf8("H:mm"), utf8("UTC")));
        assertEquals(
                micros("2020-01-01T00:00:00Z"),
                new TemporalFunctions.ParseTimestamp()
                        .invoke(utf8("2020"), utf8("yyyy"), utf8("UTC")));
    }

    @Test
    void badPatternsZonesAndTextsAreNull() {
        TemporalFunctions.ParseTimestamp parse = new TemporalFunctions.ParseTimestamp();
        assertNull(parse.invoke(utf8("1"), utf8("{"), utf8("UTC")));
        assertNull(parse.invoke(utf8("1"), utf8("H"), utf8("Nowhere")));
        assertNull(parse.invoke(utf8("x"), utf8("H"), utf8("UTC")));
        assertNull(new TemporalFunctions.FormatDate().invoke(0, utf8("HH")));
        assertNull(new TemporalFunctions.FormatDate().invoke(0, utf8("[y".repeat(200_000))));
    }

    @Test
    void datesAndTimesRefuseEachOthersFields() {
        assertEquals(
                18383,
                new TemporalFunctions.ParseDate().invoke(utf8("2020-05-01"), utf8("yyyy-MM-dd")));
        assertNull(
                new TemporalFunctions.ParseDate()
                        .invoke(utf8("2020-05-01 1"), utf8("yyyy-MM-dd H")));
        assertEquals(
                5400000, new TemporalFunctions.ParseTime().invoke(utf8("01:30"), utf8("HH:mm")));
        assertNull(new TemporalFunctions.ParseTime().invoke(utf8("01 2020"), utf8("HH yyyy")));
    }

    @Test
    void convertsByTheOffsetsOfThatInstant() {
        TemporalFunctions.ConvertZone convert = new TemporalFunctions.ConvertZone();
        assertEquals(
                micros("2020-07-01T12:00:00Z"),
                convert.invoke(micros("2020-07-01T10:00:00Z"), utf8("UTC"), utf8("Europe/Berlin")));
        assertEquals(
                micros("2020-01-01T11:00:00Z"),
                convert.invoke(micros("2020-01-01T10:00:00Z"), utf8("UTC"), utf8("Europe/Berlin")));
    }
}
