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
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import java.util.StringJoiner;

/** JsonDecoder and JsonEncoder. */
class JsonTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
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
    void theErrorNamesTheMemberAsItIsWritten() {
        assertEquals(
                "$.a: There is a text, which does not fit the column.",
                explained("A BOOLEAN", "{\"a\": \"x\", \"b\": 2}"));
        assertEquals(
                "$.r.a: There is \"x\", which is not a number.",
                explained("R STRUCT<A INT>", "{\"r\": {\"a\": \"x\", \"b\": 2}}"));
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
    void theErrorNamesThePath() {
        String reason = explained("A STRUCT<B: ARRAY<INT>>", "{\"A\": {\"B\": [1, true]}}");
        assertTrue(reason.startsWith("$.A.B[1]: There is true or false"), reason);
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
