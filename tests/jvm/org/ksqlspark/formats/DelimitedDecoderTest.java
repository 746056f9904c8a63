package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;

class DelimitedDecoderTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static InternalRow read(String argument, String line) {
        return new DelimitedDecoder(argument).invoke(bytes(line));
    }

    private static String explained(String argument, String line) {
        return new BytesToRow.Explain(new DelimitedDecoder(argument))
                .invoke(bytes(line))
                .toString();
    }

    private static String quoted(String text, String delimiter, boolean isFirst) {
        return new DelimitedQuote(delimiter, isFirst)
                .invoke(UTF8String.fromString(text))
                .toString();
    }

    @Test
    void readsEveryType() {
        InternalRow row =
                read(
                        ",A INT, B BIGINT, C DOUBLE, D BOOLEAN, E STRING, F DECIMAL(4,2), G BINARY,"
                                + " H DATE, I TIMESTAMP",
                        "-7,8000000000,2.5,TRUE,naïve,1.5,AQI=,3,4");
        assertEquals(-7, row.getInt(0));
        assertEquals(8000000000L, row.getLong(1));
        assertEquals(2.5, row.getDouble(2));
        assertTrue(row.getBoolean(3));
        assertEquals("naïve", row.getUTF8String(4).toString());
        assertEquals(new BigDecimal("1.50"), row.getDecimal(5, 4, 2).toJavaBigDecimal());
        assertArrayEquals(new byte[] {1, 2}, row.getBinary(6));
        assertEquals(3, row.getInt(7));
        assertEquals(4000L, row.getLong(8), "milliseconds are Spark's microseconds");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e999999999", "-1E999999999", "1e-999999999", "123", "1.555"})
    void aDecimalThatDoesNotFitIsNoRow(String number) {
        assertNull(read(",A DECIMAL(4,2)", number));
    }

    @Test
    void anEmptyFieldIsNull() {
        InternalRow row = read(",A STRING, B INT, C STRING", ",,\"\"");
        assertTrue(row.isNullAt(0) && row.isNullAt(1) && row.isNullAt(2));
    }

    @Test
    void onlyTrueIsTrue() {
        assertEquals(false, read(",A BOOLEAN", "yes").getBoolean(0));
    }

    @Test
    void aQuotedFieldHoldsDelimitersQuotesAndLineEnds() {
        InternalRow row = read(",A STRING, B STRING", "\"a,\"\"b\"\"\nc\" ,d");
        assertEquals("a,\"b\"\nc", row.getUTF8String(0).toString());
        assertEquals("d", row.getUTF8String(1).toString());
    }

    @Test
    void aQuoteWithinAFieldIsText() {
        assertEquals("5\" disk", read(",A STRING", "5\" disk").getUTF8String(0).toString());
    }

    @Test
    void blanksBelongToAnUnquotedField() {
        assertEquals(" a ", read(",A STRING", " a ").getUTF8String(0).toString());
    }

    @Test
    void theFirstLineThatIsNotEmptyCounts() {
        assertEquals(1, read(",A INT", "\r\n\n1\n2,3").getInt(0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\n", "a\r\n", "a\r", "\ra", "a\rb,c", "a\n\"", "\"a\"\r\n"})
    void everyLineEndEndsTheLine(String line) {
        assertEquals("a", read(",A STRING", line).getUTF8String(0).toString());
    }

    @Test
    void lineEndsWithinQuotesStayAsTheyAre() {
        InternalRow row = read(",A STRING, B STRING", "\"a\r\nb\",\"c\rd\"\n");
        assertEquals("a\r\nb", row.getUTF8String(0).toString());
        assertEquals("c\rd", row.getUTF8String(1).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"#a", "\u0000a", "'a'", "\\a"})
    void noCharacterBeginsACommentOrEscapes(String line) {
        assertEquals(line, read(",A STRING", line).getUTF8String(0).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"a", "\"a\"\"", "\"a\"\"b", "\"a\"b\""})
    void aQuotedFieldMustEnd(String line) {
        assertNull(read(",A STRING", line));
    }

    @Test
    void aDelimiterMayBeBeyondAsciiAndBeyondAJavaChar() {
        assertEquals(2, read("éA INT, B INT", "1é2").getInt(1));
        assertEquals(2, read("😀A INT, B INT", "1😀2").getInt(1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "\n", "1", "1,2,3", "x,2", "1,2147483648", "\"1,2", "\"1\"x,2", "1.0,2"})
    void aBadRecordIsNullAsAWhole(String line) {
        assertNull(read(",A INT, B INT", line));
    }

    @Test
    void sayWhatIsWrong() {
        assertEquals("There are no fields in it.", explained(",A INT", ""));
        assertEquals(
                "Unexpected field count: there are 1, the schema has 2.",
                explained(",A INT, B INT", "1"));
        assertEquals(
                "Column B: 'x' does not fit the column's type.", explained(",A INT, B INT", "1,x"));
        assertEquals("A quoted field has no end.", explained(",A STRING", "\"a"));
        assertEquals("Something stands behind a quoted field.", explained(",A STRING", "\"a\"b"));
        assertEquals("Nothing is wrong with it.", explained(",A INT", "1"));
    }

    @Test
    void aDecimalIsNeverRoundedNorTooLong() {
        assertNull(read(",A DECIMAL(4,2)", "1.234"));
        assertNull(read(",A DECIMAL(4,2)", "123.4"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "plain;plain;plain",
                "a,b;\"a,b\";\"a,b\"",
                "say \"x\";\"say \"\"x\"\"\";\"say \"\"x\"\"\"",
                "`end `;\"end \";\"end \"",
                "#x;\"#x\";\"#x\"",
                "-1;\"-1\";-1",
                "é;\"é\";é"
            })
    void quotesAsCommonsCsvDoes(String text, String first, String later) {
        assertEquals(first, quoted(text, ",", true));
        assertEquals(later, quoted(text, ",", false));
    }

    @Test
    void anEmptyFirstFieldIsQuotedSinceAnEmptyLineHasNoFields() {
        assertEquals("\"\"", quoted("", ",", true));
        assertEquals("", quoted("", ",", false));
    }
}
