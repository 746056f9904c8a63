package org.ksqlspark.internals.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;

import java.util.List;

class MatchedTopicsTest {
    private static List<String> found(String whole, String never) {
        MatchedTopics topics = new MatchedTopics(whole, never);
        return List.of("orders", "orders.eu", "Orders", "_orders", "x").stream()
                .filter(topics::matches)
                .toList();
    }

    @Test
    void wholeNamesMatch() {
        assertEquals(List.of("orders", "orders.eu"), found("orders.*", "(?:_).*"));
        assertEquals(List.of("orders", "x"), found("orders|x", "(?:_).*"));
        assertEquals(List.of("Orders", "x"), found("(?i)[a-z_]+", "(?:_|o).*"));
    }

    @Test
    void noPatternTakesLong() {
        for (String slow : List.of("(x|x){24}y", "(x|x)*y", "x?".repeat(40) + "x".repeat(40))) {
            assertFalse(new MatchedTopics(slow, "(?:_).*").matches("x".repeat(39)));
        }
    }
}
