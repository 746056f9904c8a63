package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.List;

class Utf16FunctionsTest {
    private static final Limits ANY_SIZE = new Limits(Integer.MAX_VALUE, Integer.MAX_VALUE);

    private static UTF8String utf8(String text) {
        return UTF8String.fromString(text);
    }

    private static String text(UTF8String value) {
        return value == null ? null : value.toString();
    }

    private static List<String> texts(ArrayData array) {
        return Arrays.stream(array.toObjectArray(DataTypes.StringType))
                .map(String::valueOf)
                .toList();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a",
                "12345678",
                "123456789",
                "é",
                "€uro and more",
                "a😀b",
                "ends in 😀"
            })
    void lengthIsJavas(String text) {
        assertEquals(text.length(), new Utf16Functions.Length().invoke(utf8(text)));
    }

    @ParameterizedTest
    @CsvSource({
        "hello,1,2,he",
        "hello,2,100,ello",
        "hello,-3,2,ll",
        "hello,0,2,he",
        "hello,9,2,''",
        "hello,-9,2,he",
        "naïve,3,2,ïv",
        "a😀b,4,1,b",
        "a😀b,2,2,😀",
        "a😀b,2,1,?"
    })
    void substring(String text, int position, int length, String expected) {
        assertEquals(
                expected,
                text(new Utf16Functions.Substring().invoke(utf8(text), position, length)));
    }

    @ParameterizedTest
    @CsvSource({"foo,7,Bar,BarBfoo,fooBarB", "foo,2,x,fo,fo", "é,3,ü,üüé,éüü", "a,4,xé,xéxa,axéx"})
    void pad(String text, int length, String padding, String left, String right) {
        UTF8String given = utf8(text);
        assertEquals(
                left,
                text(new Utf16Functions.Pad(ANY_SIZE, true).invoke(given, length, utf8(padding))));
        assertEquals(
                right,
                text(new Utf16Functions.Pad(ANY_SIZE, false).invoke(given, length, utf8(padding))));
    }

    @Test
    void padOfNothingIsNull() {
        assertNull(new Utf16Functions.Pad(ANY_SIZE, true).invoke(utf8("a"), 3, utf8("")));
        assertNull(new Utf16Functions.Pad(ANY_SIZE, true).invoke(utf8("a"), -1, utf8("x")));
    }

    @ParameterizedTest
    @CsvSource({
        "corporate floor,or,1,1,2", "corporate floor,or,1,2,5", "corporate floor,or,-3,1,5",
        "corporate floor,or,-3,2,2", "corporate floor,x,1,1,0", "corporate floor,or,3,1,5",
        "ïor,or,1,1,2", "abc,a,9,1,0", "abc,a,0,1,0"
    })
    void position(String text, String part, int from, int occurrence, int expected) {
        assertEquals(
                expected,
                new Utf16Functions.Position().invoke(utf8(text), utf8(part), from, occurrence));
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {
                "\"the quick\tFOX\",\"The Quick\tFox\"",
                "\"  a b\",\"A B\"",
                "\"été ÎLE\",\"Été Île\""
            })
    void initialCapitals(String text, String expected) {
        assertEquals(expected, text(new Utf16Functions.InitialCapitals().invoke(utf8(text))));
    }

    @Test
    void trimTakesWhatJavaStringTrimTakes() {
        for (String text : List.of(" \t a b\n ", "\u00A0a\u00A0", "", "   ", "é ")) {
            assertEquals(text.trim(), text(new Utf16Functions.Trim().invoke(utf8(text))));
        }
    }

    @Test
    void splitKeepsEmptyPieces() {
        Utf16Functions.Split split = new Utf16Functions.Split(ANY_SIZE);
        assertEquals(List.of("", "a", "", "b", ""), texts(split.invoke(utf8(",a,,b,"), utf8(","))));
        assertEquals(List.of("a", "b😀"), texts(split.invoke(utf8("aé·éb😀"), utf8("é·é"))));
        assertEquals(List.of("a", "b"), texts(split.invoke(utf8("ab"), utf8(""))));
    }

    @Test
    void splitToMapTakesTheLastOfEqualKeys() {
        MapData map =
                new Utf16Functions.SplitToMap(ANY_SIZE)
                        .invoke(utf8("a=1;b=2=3;c;a=4"), utf8(";"), utf8("="));
        assertEquals(List.of("a", "b"), texts(map.keyArray()));
        assertEquals(List.of("4", "2"), texts(map.valueArray()));
        assertNull(new Utf16Functions.SplitToMap(ANY_SIZE).invoke(utf8("a"), utf8("="), utf8("=")));
    }

    @ParameterizedTest
    @CsvSource({
        "ALL,0,XxXnn-",
        "LEFT,2,XxÉ12-",
        "RIGHT,2,AbÉ1n-",
        "KEEP_LEFT,2,AbXnn-",
        "KEEP_RIGHT,2,XxXn2-"
    })
    void mask(String part, int count, String expected) {
        Utf16Functions.Mask mask = new Utf16Functions.Mask(part);
        assertEquals(
                expected,
                text(
                        mask.invoke(
                                utf8("AbÉ12-"),
                                count,
                                utf8("X"),
                                utf8("x"),
                                utf8("n"),
                                utf8("-"))));
    }

    @Test
    void aMissingMarkKeepsWhatItStandsForAndALongOneIsWrong() {
        Utf16Functions.Mask mask = new Utf16Functions.Mask("ALL");
        assertEquals("Ax", text(mask.invoke(utf8("Ab"), 0, null, utf8("x"), utf8("n"), utf8("-"))));
        assertNull(mask.invoke(utf8("Ab"), 0, utf8("XX"), utf8("x"), utf8("n"), utf8("-")));
    }
}
