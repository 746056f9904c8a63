package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;
import java.util.List;

class PatternFunctionsTest {
    private static final Limits ANY_SIZE = new Limits(Integer.MAX_VALUE, Integer.MAX_VALUE);

    private static UTF8String utf8(String text) {
        return text == null ? null : UTF8String.fromString(text);
    }

    private static List<String> texts(ArrayData array) {
        return Arrays.stream(array.toObjectArray(DataTypes.StringType))
                .map(String::valueOf)
                .toList();
    }

    @Test
    void extractGivesAGroupOfTheFirstMatch() {
        PatternFunctions.Extract extract = new PatternFunctions.Extract();
        assertEquals("b2", extract.invoke(utf8("[a-z](\\d)"), utf8("-b2c3"), 0).toString());
        assertEquals("2", extract.invoke(utf8("[a-z](\\d)"), utf8("-b2c3"), 1).toString());
        assertNull(extract.invoke(utf8("[a-z](\\d)"), utf8("-b2c3"), 2));
        assertNull(extract.invoke(utf8("["), utf8("-"), 0), "a pattern that is none");
    }

    @Test
    void extractAllAndSplit() {
        assertEquals(
                List.of("2", "3"),
                texts(
                        new PatternFunctions.ExtractAll(ANY_SIZE)
                                .invoke(utf8("[a-z](\\d)"), utf8("b2c3"), 1)));
        PatternFunctions.Split split = new PatternFunctions.Split(ANY_SIZE);
        assertEquals(List.of("", "a", "b", ""), texts(split.invoke(utf8("1a22b3"), utf8("\\d+"))));
        assertEquals(List.of("a", "b"), texts(split.invoke(utf8("ab"), utf8(""))));
    }

    @Test
    void replaceKnowsGroupsAndRefusesThoseThatAreNotThere() {
        PatternFunctions.Replace replace = new PatternFunctions.Replace(ANY_SIZE);
        assertEquals("ba", replace.invoke(utf8("ab"), utf8("(a)(b)"), utf8("$2$1")).toString());
        assertNull(replace.invoke(utf8("ab"), utf8("a"), utf8("$1")));
    }

    @ParameterizedTest
    @CsvSource({
        "(a|b)*c,100000",
        "(a*)*\\1b,40",
        "(.*)(.*)(.*)(.*)(.*)(.*)[^a],100",
        "(a+)+\\1c,60"
    })
    void whatWouldEndTheProcessOrNeverEndIsGivenUp(String pattern, int length) {
        UTF8String text = utf8("a".repeat(length));
        UTF8String bad = utf8(pattern);
        assertNull(new PatternFunctions.Extract().invoke(bad, text, 0));
        assertTrue(new PatternFunctions.GivesUp().invoke(bad, text));
        assertNull(new PatternFunctions.ExtractAll(ANY_SIZE).invoke(bad, text, 0));
        assertNull(new PatternFunctions.Replace(ANY_SIZE).invoke(text, bad, utf8("x")));
        assertNull(new PatternFunctions.Split(ANY_SIZE).invoke(text, bad));
    }

    @Test
    void longTextsAndPatternsThatDoNotMatchAreNoReasonToGiveUp() {
        UTF8String text = utf8("ab".repeat(1_000_000));
        assertNull(new PatternFunctions.Extract().invoke(utf8("[ab]+c"), text, 0));
        assertFalse(new PatternFunctions.GivesUp().invoke(utf8("b[ab]c|x"), text));
        assertFalse(new PatternFunctions.GivesUp().invoke(utf8("["), text));
        assertFalse(new PatternFunctions.GivesUp().invoke(null, text));
        assertFalse(new PatternFunctions.GivesUp().invoke(utf8("a"), null));
        UTF8String deep = utf8("(".repeat(100_000) + ")".repeat(100_000));
        assertNull(new PatternFunctions.Extract().invoke(deep, text, 0));
    }

    @Test
    void likeIsGivenUpWhereItWouldTakeAsManyStepsAsPatternTimesText() {
        String part = "a".repeat(20_000);
        UTF8String text = utf8("a".repeat(200_000));
        for (String pattern : List.of("%" + part + "b%", "%" + part + "_b", "%a%" + part + "_b%")) {
            assertNull(new PatternFunctions.Like().invoke(text, utf8(pattern), utf8("")));
            assertNull(new PatternFunctions.LikeConstant("0" + pattern).invoke(text));
        }
        assertEquals(true, new PatternFunctions.LikeConstant("0%" + part + "%").invoke(text));
        assertEquals(false, new PatternFunctions.LikeConstant("0%" + part + "b").invoke(text));
        UTF8String many = utf8("%a".repeat(1_000) + "%b");
        assertEquals(false, new PatternFunctions.Like().invoke(text, many, utf8("")));
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {
                "abc,abc,,true", "abc,a%,,true", "abc,%c,,true", "abc,%b%,,true", "abc,a_c,,true",
                "abc,%,,true", "abc,b%,,false", "a%c,a!%c,!,true", "abc,a!%c,!,false",
                        "a😀c,a_c,,true",
                "\"a\nc\",a%c,,false", "\"a\nc\",a_c,,false", "aXbXc,a%X%c,,true", "abc,ABC,,false"
            })
    void likeIsTheSameForConstantsAndColumns(
            String text, String pattern, String escape, boolean expected) {
        String mark = escape == null ? "" : escape;
        assertEquals(
                expected,
                new PatternFunctions.Like().invoke(utf8(text), utf8(pattern), utf8(mark)));
        assertEquals(
                expected,
                new PatternFunctions.LikeConstant(mark.length() + mark + pattern)
                        .invoke(utf8(text)));
    }
}
