package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.charset.StandardCharsets;

class DelimitedDecoderTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
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
