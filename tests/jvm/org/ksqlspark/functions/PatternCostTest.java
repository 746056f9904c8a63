package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.regex.Pattern;

class PatternCostTest {
    private static void refused(String pattern) {
        Pattern.compile(pattern);
        assertFalse(PatternCost.isCounted(pattern), pattern);
        UTF8String known = UTF8String.fromString(pattern);
        UTF8String text = UTF8String.fromString("aaaa");
        assertNull(new PatternFunctions.Extract().invoke(known, text, 0));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "(?:(?:(?:(?:){999}){999}){999}){999}b",
                "((((){999}){999}){999}){999}b",
                "(?:(?:(?:^|$){99}){99}){99}b",
                "(?:(?:(?:a?){999}){999}){999}b",
                "(?:(?:|){40}){2}b",
                "(?i)(?:(?:(?:\\b){999}){999}){999}b",
                "(?x) (?: (?: (?: ){999} ) {999} # a ( comment\n ){999} b",
                "(?=(?:(?:(?:){999}){999}){999})b",
                "(?>(?:(?:(?:){999}){999}){999})b",
                "(?<n>)(?:(?:\\k<n>{999}){999}){999}b",
                "[(](?:(?:(?:\\Q\\E){999}){999}){999}b",
                "x(?:(?:(?:){999}){999}){999}b",
                "(?:x(?:|)){2}(?:(?:(?:){999}){999}){999}"
            })
    void stepsThatLookAtNoCharacterAreBounded(String pattern) {
        refused(pattern);
    }

    @Test
    void theyMayDoubleWithEachPart() {
        refused("(|)".repeat(30) + "b");
        refused("(a?|b?)".repeat(30) + "c");
        refused("(a*|b*)".repeat(30) + "c");
        refused("x" + "(?:a?)?".repeat(30) + "c");
        refused("(?:x" + "(|)".repeat(30) + ")*b");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "b.",
                "(.*) (.*)",
                "^\\d{1,3}(\\.\\d{1,3}){3}$",
                "(?:[A-Z0-9._%+-]+)@(?:[A-Z0-9.-]+)\\.[A-Z]{2,}",
                "(\\w+)\\s*=\\s*(\"[^\"]*\"|'[^']*'|\\S+)?",
                "([^ ]*) ([^ ]*) ([^ ]*) \\[([^\\]]*)\\] \"([^\"]*)\" (-|[0-9]*) (-|[0-9]*)",
                "(a|b|c|d)*e",
                "(a|a)*b",
                "(?:cat|dog)?(?:-(?:one|two|))?",
                "(a?){1000}",
                "[]a-z&&[^bc]]+",
                "\\p{Lu}{3}\\x{41}\\Q(|)(|)\\E",
                "(?x) a | b # or ((((\n | c",
                "((a{0,100}){0,100}){0,100}",
                "(?<!a)(?<=b)(?!c)(?=d)d"
            })
    void ordinaryPatternsAreNot(String pattern) {
        Pattern.compile(pattern);
        assertTrue(PatternCost.isCounted(pattern));
        assertTrue(PatternCost.isCounted("(?:" + pattern + "|z)+"));
    }

    @Test
    void manyAlternativesThatNeedCharactersAreNot() {
        assertTrue(PatternCost.isCounted("(?:a|b|c)".repeat(200)));
        assertTrue(PatternCost.isCounted("(?:a|b|c|)x".repeat(200)));
        assertTrue(PatternCost.isCounted("word|".repeat(20_000) + "word"));
    }
}
