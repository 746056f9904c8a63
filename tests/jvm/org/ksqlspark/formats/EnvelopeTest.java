package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;

class EnvelopeTest {
    private static final String WORDS =
            "{\"upserts\": [\"c\", \"u\"], \"deletions\": [\"d\"], \"unavailable\": \"none\"}";
    private static final String ENVELOPE = "OP STRING, AFTER STRUCT<A: INT, B: STRING>";
    private static final String DDL =
            ENVELOPE + ", PAYLOAD STRUCT<OP: STRING, AFTER: STRUCT<A: INT, B: STRING>>";

    private static InternalRow decoded(String ddl, String json) {
        return new JsonDecoder(ddl).invoke(json.getBytes(StandardCharsets.UTF_8));
    }

    private static InternalRow change(String json) {
        return new Envelope.Change(StructType.fromDDL(DDL), WORDS).invoke(decoded(DDL, json));
    }

    private static String explained(String json) {
        var found = new Envelope.Explain(StructType.fromDDL(DDL), WORDS).invoke(decoded(DDL, json));
        return found == null ? null : found.toString();
    }

    private static InternalRow key(String ddl, String json) {
        return new Envelope.Key(StructType.fromDDL(ddl), "[\"ID\"]").invoke(decoded(ddl, json));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"op\": \"c\", \"after\": {\"a\": 1}}",
                "{\"payload\": {\"before\": 7, \"after\": {\"a\": 1}, \"op\": \"u\"}, \"schema\":"
                        + " {}}"
            })
    void aChangeHasTheRowAfterIt(String json) {
        InternalRow row = change(json);
        assertEquals(1, row.getInt(0));
        assertTrue(row.isNullAt(1));
        assertEquals(false, row.getBoolean(2));
        assertTrue(row.isNullAt(3));
        assertEquals(4, row.numFields());
    }

    @Test
    void aChangeTellsWhatItLeavesOut() {
        InternalRow row = change("{\"op\": \"u\", \"after\": {\"a\": 1, \"b\": \"none\"}}");
        assertTrue(row.isNullAt(1));
        assertArrayEquals(new int[] {1}, row.getArray(3).toIntArray());
    }

    @Test
    void aDeletionHasNoRow() {
        InternalRow row = change("{\"op\": \"d\", \"before\": {\"a\": 1}, \"after\": {\"a\": 1}}");
        assertTrue(row.isNullAt(0) && row.isNullAt(1));
        assertEquals(true, row.getBoolean(2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"op\": \"t\"} | Its op is \"t\", which tells nothing about one row.",
                "{\"op\": \"c\"} | Its op is \"c\", but it has no after.",
                "{\"a\": 1} | It is no envelope: it has no op."
            })
    void whatIsNoChangeIsExplained(String json, String reason) {
        assertNull(change(json));
        assertEquals(reason, explained(json));
    }

    @Test
    void whatWasNotDecodedIsNull() {
        assertNull(change("["));
        assertNull(explained("["));
        assertNull(key("ID INT", "["));
    }

    @Test
    void aKeyMayBeBesideItsSchema() {
        String ddl = "`PK.ID` INT, PAYLOAD STRUCT<`PK.ID`: INT>";
        assertEquals(7, key(ddl, "{\"pk.id\": 7}").getInt(0));
        assertEquals(7, key(ddl, "{\"schema\": {}, \"payload\": {\"pk.id\": 7}}").getInt(0));
        assertNull(key(ddl, "{\"id\": 7}"));
        assertNull(key(ddl, "{\"schema\": {}, \"payload\": {}}"));
    }
}
