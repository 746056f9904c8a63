package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** JsonDecoder and JsonEncoder. */
class JsonTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static InternalRow read(String ddl, String json) {
        return new JsonDecoder(ddl).invoke(bytes(json));
    }

    private static String explained(String ddl, String json) {
        return new BytesToRow.Explain(new JsonDecoder(ddl)).invoke(bytes(json)).toString();
    }

    private static String written(String ddl, boolean bare, Object... values) {
        byte[] json =
                new JsonEncoder(StructType.fromDDL(ddl), bare, "")
                        .invoke(new GenericInternalRow(values));
        return json == null ? null : new String(json, StandardCharsets.UTF_8);
    }

    @Test
    void aFieldMatchesByItsNameOrElseInUpperCase() {
        assertEquals(1, read("A INT", "{\"a\": 1}").getInt(0));
        assertEquals(2, read("a INT", "{\"a\": 2}").getInt(0));
        assertTrue(read("a INT", "{\"A\": 2}").isNullAt(0));
        assertEquals(2, read("A INT", "{\"a\": 1, \"A\": 2}").getInt(0));
        assertEquals(2, read("A INT", "{\"A\": 2, \"a\": 1}").getInt(0));
    }

    @Test
    void aMemberInAnotherCaseCountsOnlyIfThereIsNoneOfTheNameItself() {
        for (String other :
                new String[] {"\"x\"", "{\"b\": [1]}", "[{}, 2]", "1e99", "99999999999"}) {
            assertEquals(2, read("A INT", "{\"a\": " + other + ", \"A\": 2}").getInt(0), other);
            assertEquals(2, read("A INT", "{\"A\": 2, \"a\": " + other + "}").getInt(0), other);
            assertNull(read("A INT", "{\"a\": " + other + ", \"b\": 2}"), other);
        }
        assertEquals(
                "$.a: There is a text, which does not fit the column.",
                explained("A BOOLEAN", "{\"a\": \"x\", \"b\": 2}"));
        assertEquals(
                "$.r.a: There is \"x\", which is not a number.",
                explained("R STRUCT<A INT>", "{\"r\": {\"a\": \"x\", \"b\": 2}}"));
    }

    @Test
    void aMemberOfTheNameItselfCountsInWideRecordsToo() {
        String ddl =
                IntStream.range(0, 70)
                        .mapToObj(i -> "C" + i + " INT")
                        .collect(Collectors.joining(", "));
        assertEquals(1, read(ddl, "{\"C69\": 1, \"c69\": 2}").getInt(69));
        assertEquals(1, read(ddl, "{\"c69\": 2, \"C69\": 1}").getInt(69));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INT",
                "BIGINT",
                "DOUBLE",
                "DECIMAL(38,2)",
                "DATE",
                "TIMESTAMP",
                "ARRAY<BIGINT>"
            })
    void aNumberThatFitsNoTypeIsNoRow(String type) {
        for (String number : new String[] {"1e999999999", "-1E999999999", "1e400"}) {
            String json = type.startsWith("ARRAY") ? "[" + number + "]" : number;
            assertNull(read("B " + type, "{\"b\": " + json + "}"), type + " " + number);
        }
        assertNull(read("B BIGINT", "{\"b\": 1e19}"));
        assertNull(read("B DECIMAL(38,2)", "{\"b\": \"1e999999999\"}"));
        assertNull(read("B DECIMAL(38,2)", "{\"b\": 1e-999999999}"));
        assertTrue(explained("B BIGINT", "{\"b\": 1e999999999}").contains("does not fit BIGINT"));
    }

    @Test
    void aNumberMayBeWrittenWithAnExponent() {
        String json = "{\"a\": 1e18, \"b\": 1e-999999999, \"c\": 0e999999999, \"d\": 12e0}";
        InternalRow row = read("A BIGINT, B BIGINT, C DECIMAL(4,2), D DECIMAL(4,2)", json);
        assertEquals(1_000_000_000_000_000_000L, row.getLong(0));
        assertEquals(0L, row.getLong(1));
        assertEquals(new BigDecimal("0.00"), row.getDecimal(2, 4, 2).toJavaBigDecimal());
        assertEquals(new BigDecimal("12.00"), row.getDecimal(3, 4, 2).toJavaBigDecimal());
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", " null", "null\n", "\t\r\n null \t\r\n", "null null", "null{"})
    void theLiteralNullIsNull(String json) {
        assertTrue(new JsonDecoder.IsNull().invoke(bytes(json)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", " ", "nul", "nulll", "null1", "NULL", "{\"a\":null}", "\fnull", "n"})
    void nothingElseIs(String json) {
        assertFalse(new JsonDecoder.IsNull().invoke(bytes(json)));
        assertFalse(new JsonDecoder.IsNull().invoke(null));
    }

    @Test
    void unknownFieldsAreIgnoredAndMissingOnesNull() {
        InternalRow row = read("A INT, B INT", "{\"X\": {\"A\": [1, {}]}, \"B\": 2}");
        assertTrue(row.isNullAt(0));
        assertEquals(2, row.getInt(1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {"1.9;1", "\"12\";12", "-3;-3"})
    void numbersAreTruncatedAndReadFromStrings(String json, int expected) {
        assertEquals(expected, read("A INT", "{\"A\": " + json + "}").getInt(0));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "\"x\";x",
                "1.50;1.50",
                "true;true",
                "[1, \"a\"];[1, a]",
                "{\"k\": 1};{\"k\":1}"
            })
    void anythingCanBeAString(String json, String expected) {
        assertEquals(
                expected, read("A STRING", "{\"A\": " + json + "}").getUTF8String(0).toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "1",
                "{\"A\": true}",
                "{\"A\": \"x\"}",
                "{\"A\": 1",
                "{\"A\": []}"
            })
    void aBadRecordIsNullAsAWhole(String json) {
        assertNull(read("A INT", json));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "x", "}", "\"", "\0", "\ud800"})
    void whatFollowsTheFirstValueIsNotLookedAt(String rest) {
        assertEquals(1, read("A INT", "{\"A\": 1}" + rest).getInt(0));
    }

    @Test
    void theErrorNamesThePath() {
        String reason = explained("A STRUCT<B: ARRAY<INT>>", "{\"A\": {\"B\": [1, true]}}");
        assertTrue(reason.startsWith("$.A.B[1]: There is true or false"), reason);
    }

    @Test
    void aBareValueNeedsNoObject() {
        assertEquals(5, read("=A INT", "5").getInt(0));
        assertTrue(read("=A INT", "null").isNullAt(0));
    }

    @Test
    void aDecimalIsExact() {
        InternalRow row = read("A DECIMAL(20,2)", "{\"A\": 100000000000000000.10}");
        assertEquals(
                new BigDecimal("100000000000000000.10"),
                row.getDecimal(0, 20, 2).toJavaBigDecimal());
        assertNull(read("A DECIMAL(4,2)", "{\"A\": 1.234}"), "it would be rounded");
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "plain|plain",
                "``|``",
                "a \\\"quoted\\\" one|a \"quoted\" one",
                "\\u00fc and \\n|`ü and \n`",
                "Zürich 東京 😀|Zürich 東京 😀",
                "\\ud83d\\ude00|😀",
                "\\ud800|?",
            })
    void aTextIsWhatItsEscapesAndBytesMean(String json, String expected) {
        String record = "{\"n\": 1, \"a\": \"" + json + "\", \"r\": {\"b\": \"" + json + "\"}}";
        String ddl = "N INT, A STRING, R STRUCT<B STRING>";
        for (InternalRow row :
                new InternalRow[] {
                    read(ddl, record),
                    new JsonDecoder(ddl, true).invoke(bytes("\0\0\0\0\u0001" + record)),
                }) {
            assertFalse(row.isNullAt(1));
            assertEquals(expected, row.getUTF8String(1).toString());
            assertEquals(expected, row.getStruct(2, 1).getUTF8String(0).toString());
        }
        InternalRow row = read("A STRING", "{\"A\": \"" + json + "\"}");
        assertEquals(new GenericInternalRow(new Object[] {UTF8String.fromString(expected)}), row);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "1.50|1.50",
                "1e5|1E+5",
                "0.0000001|1E-7",
                "{\"x\": 1.50, \"y\": [1e5]}|{\"x\":1.50,\"y\":[1E+5]}",
                "{\"x\": 12345678901234567.891}|{\"x\":12345678901234567.891}",
                "[1.50, {\"x\": 0.10}]|[1.50, {\"x\":0.10}]",
            })
    void aNumberKeepsItsDigitsInAText(String json, String expected) {
        InternalRow row = read("A STRING", "{\"a\": " + json + "}");
        assertEquals(expected, row.getUTF8String(0).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"\\x", "a\nb", "\\ud8"})
    void aTextThatIsWrongIsNoRow(String text) {
        assertNull(read("A STRING, N INT", "{\"a\": \"" + text + "\", \"n\": 1}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"C3", "FF", "EDA080"})
    void aTextThatIsNotUtf8IsNoRow(String bytes) {
        byte[] start = bytes("{\"a\": \"plain ");
        byte[] wrong = HexFormat.of().parseHex(bytes);
        byte[] end = bytes("\", \"n\": 1}");
        byte[] json =
                ByteBuffer.allocate(start.length + wrong.length + end.length)
                        .put(start)
                        .put(wrong)
                        .put(end)
                        .array();
        assertNull(new JsonDecoder("A STRING, N INT").invoke(json));
    }

    @Test
    void aTextWithoutAnEndIsExplained() {
        String explained = explained("A STRING", "{\"a\": \"no end");
        assertTrue(explained.startsWith("Unexpected end-of-input"), explained);
    }

    @Test
    void whatCameBeforeDoesNotChangeHowARecordIsRead() {
        String ddl =
                "A INT, `b` STRING, `\u00e4\"` INT, R STRUCT<A INT, X STRING>, L ARRAY<STRUCT<A"
                        + " INT>>";
        String[] members = {
            "\"A\": 1",
            "\"a\":2",
            "\"\\u0041\": 3",
            "\"b\": \"x\"",
            "\"B\": \"y\"",
            "\"\u00e4\\\"\" : 4",
            "\"R\": {\"A\": 5, \"x\": \"z\"}",
            "\"r\": {\"x\": null , \"A\": 6}",
            "\"R\": {}",
            "\"L\": [{\"A\": 7}, {\"a\": 8, \"c\": {\"d\": []}}, {}]",
            "\"Aa\": 9",
            "\"other\": {\"A\": [10, {}]}",
            "\"a\" 11",
            "\"A\": \"no number\"",
            "\"A",
            "\"\": 12",
            "\"\\ud800\": 15",
            "\"\\udc00x\": {\"\\ud83d\": 16}",
            "13: 14",
        };
        Random random = new Random(1);
        JsonDecoder kept = new JsonDecoder(ddl);
        int rows = 0;
        for (int n = 0; n < 20_000; n++) {
            StringJoiner record = new StringJoiner(n % 3 == 0 ? " ,\n" : ",", "{", "}");
            for (int left = random.nextInt(7); left > 0; left--) {
                // the first ones more often: most records have to be right
                record.add(members[random.nextInt(1 + random.nextInt(members.length))]);
            }
            byte[] json = bytes(record.toString());
            InternalRow row = kept.invoke(json);
            assertEquals(new JsonDecoder(ddl).invoke(json), row, record.toString());
            rows += row == null ? 0 : 1;
        }
        assertTrue(rows > 5_000 && rows < 19_000, () -> "the cases are not what they should be");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "7b22f4908080223a312c2241223a377d", // {"....":1,"A":7}
                "7b22f0808080223a312c2241223a377d",
                "7b2241223a372c22f4908080223a317d", // {"A":7,"....":1}
                "7b2241223a372c226f74686572223a7b22f0808080223a317d7d", // {"A":7,"other":{"....":1}}
                "7b2252223a7b2258223a312c22f4908080223a317d7d", // {"R":{"X":1,"....":1}}
            })
    void aNameThatIsNotUtf8DoesNoHarmToWhatComesAfter(String record) {
        JsonDecoder kept = new JsonDecoder("A INT, R STRUCT<X INT>");
        byte[] next = bytes("{\"A\": 8, \"R\": {\"X\": 9}, \"other\": 123456789}");
        for (int n = 0; n < 3; n++) {
            kept.invoke(HexFormat.of().parseHex(record));
            assertEquals(8, kept.invoke(next).getInt(0));
            assertEquals(9, kept.invoke(next).getStruct(1, 1).getInt(0));
        }
    }

    @Test
    void moreNamesThanAreKeptAreReadToo() {
        JsonDecoder kept = new JsonDecoder("A INT, B INT");
        for (int n = 0; n < 3000; n++) {
            String json = "{\"x%d\": 0, \"a\": %d, \"y%d\": {}, \"B\": 1}".formatted(n, n, n);
            InternalRow row = kept.invoke(bytes(json));
            assertEquals(n, row.getInt(0));
            assertEquals(1, row.getInt(1));
        }
    }

    @Test
    void whatWasWrittenBeforeDoesNotChangeARecord() {
        JsonEncoder kept = new JsonEncoder(StructType.fromDDL("A INT, B STRING"), false, "");
        UTF8String large = UTF8String.fromString("x".repeat(1_000_000));
        for (UTF8String text : new UTF8String[] {large, UTF8String.fromString("y"), null}) {
            InternalRow failing = new GenericInternalRow(new Object[] {1, "no UTF8String"});
            assertThrows(ClassCastException.class, () -> kept.invoke(failing));
            for (int n = 0; n < 3; n++) {
                byte[] json = kept.invoke(new GenericInternalRow(new Object[] {n, text}));
                String b = text == null ? "null" : "\"" + text + "\"";
                assertEquals(
                        "{\"A\":" + n + ",\"B\":" + b + "}",
                        new String(json, StandardCharsets.UTF_8));
            }
        }
    }

    @Test
    void bareValuesAreWrittenWithNothingBetweenThem() {
        JsonEncoder kept = new JsonEncoder(StructType.fromDDL("A INT"), true, "00ff");
        for (int n = 0; n < 3; n++) {
            byte[] json = kept.invoke(new GenericInternalRow(new Object[] {n}));
            assertEquals("00ff3" + n, HexFormat.of().formatHex(json));
        }
    }

    @Test
    void writesEveryFieldInItsCase() {
        Decimal decimal = Decimal.apply(new BigDecimal("0.0000001"), 10, 7);
        assertEquals(
                "{\"a\":1,\"B\":null,\"C\":0.0000001,\"D\":2,\"E\":3,\"F\":\"AQI=\"}",
                written(
                        "a INT, B STRING, C DECIMAL(10,7), D DATE, E TIMESTAMP, F BINARY",
                        false,
                        1,
                        null,
                        decimal,
                        2,
                        3000L,
                        new byte[] {1, 2}));
    }

    @Test
    void writesABareValueAndABareNullAsNoRecord() {
        assertEquals("\"x\"", written("A STRING", true, UTF8String.fromString("x")));
        assertNull(written("A STRING", true, new Object[] {null}));
    }

    @Test
    void brokenUtf8IsNull() {
        byte[] notUtf8 = {'{', '"', 'A', '"', ':', '"', (byte) 0xC3, '"', '}'};
        assertNull(new JsonDecoder("A STRING").invoke(notUtf8));
    }

    @Test
    void aVariantIsReadAsAColumnOfJson() {
        String ddl = "v ARRAY<STRUCT<name: STRING, at: time(3), rest: variant>>";
        InternalRow row =
                new JsonDecoder.FromText(ddl)
                        .invoke(
                                UTF8String.fromString(
                                        "[{\"name\":\"ü\",\"at\":1,\"rest\":[1.10]},{\"name\":1.0}]"));
        InternalRow first = row.getArray(0).getStruct(0, 3);
        assertEquals("ü", first.getUTF8String(0).toString());
        assertEquals(1, first.getInt(1));
        assertEquals("[1.10]", first.getUTF8String(2).toString());
        assertEquals("1.0", row.getArray(0).getStruct(1, 3).getUTF8String(0).toString());
        assertNull(new JsonDecoder.FromText(ddl).invoke(UTF8String.fromString("{}")));
    }
}
