package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

class TextOrderTest {
    /** Ascending as Java compares them: a character beyond U+FFFF comes before U+E000. */
    private static final List<String> ASCENDING =
            List.of(
                    "",
                    "A",
                    "AA",
                    "a",
                    "longer than eight",
                    "longer than nine",
                    "é",
                    "\uD7FF",
                    "😀",
                    "\uE000",
                    "\uFFFD");

    private static UTF8String utf8(String text) {
        return UTF8String.fromString(text);
    }

    @Test
    void textComparesAsJavaStringsDo() {
        for (String a : ASCENDING) {
            for (String b : ASCENDING) {
                assertEquals(
                        Integer.signum(a.compareTo(b)),
                        Integer.signum(TextOrder.compare(utf8(a), utf8(b))),
                        a + " and " + b);
            }
        }
    }

    @Test
    void bytesCompareWithTheirSign() {
        assertEquals(-1, Integer.signum(TextOrder.compare(new byte[] {-1}, new byte[] {0})));
        assertEquals(1, Integer.signum(TextOrder.compare(new byte[] {1, 0}, new byte[] {1})));
    }

    @Test
    void sparksOrderOfRanksIsOurs() {
        TextOrder.Rank rank = new TextOrder.Rank(DataTypes.StringType);
        TextOrder.RankedText back = new TextOrder.RankedText();
        for (int i = 0; i < ASCENDING.size(); i++) {
            byte[] mine = rank.invoke(utf8(ASCENDING.get(i)));
            assertEquals(ASCENDING.get(i), back.invoke(mine).toString());
            for (int j = 0; j < i; j++) {
                byte[] less = rank.invoke(utf8(ASCENDING.get(j)));
                assertEquals(1, Integer.signum(Arrays.compareUnsigned(mine, less)));
            }
        }
    }

    @Test
    void sortPutsNullsLastEitherWay() {
        TextOrder.Sort sort = new TextOrder.Sort(DataTypes.StringType);
        ArrayData given =
                new GenericArrayData(new Object[] {utf8("\uE000"), null, utf8("😀"), utf8("a")});
        assertArrayEquals(
                new Object[] {utf8("a"), utf8("😀"), utf8("\uE000"), null},
                sort.invoke(given, false).toObjectArray(DataTypes.StringType));
        assertArrayEquals(
                new Object[] {utf8("\uE000"), utf8("😀"), utf8("a"), null},
                sort.invoke(given, true).toObjectArray(DataTypes.StringType));
    }

    @Test
    void aNullDoesNotCountAmongTwo() {
        TextOrder.OfTwo greater = new TextOrder.OfTwo(DataTypes.StringType, true);
        assertEquals(utf8("\uE000"), greater.invoke(utf8("😀"), utf8("\uE000")));
        assertEquals(utf8("a"), greater.invoke(null, utf8("a")));
        assertEquals(utf8("a"), greater.invoke(utf8("a"), null));
    }
}
