package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;
import org.junit.jupiter.api.Test;

import java.util.HexFormat;

/** AvroReader, AvroRecordReader and AvroUnionReader, without a registry. */
class AvroReaderTest {
    private static String read(String schema, String ddl, String hex) {
        Schema writer = new Schema.Parser().parse(schema.replace('\'', '"'));
        AvroInput in = new AvroInput();
        in.start(HexFormat.of().parseHex(hex), 0);
        return String.valueOf(AvroReader.of(writer, DataType.fromDDL(ddl)).read(in));
    }

    @Test
    void aLongIsWhatItsSchemaAndTheColumnSay() {
        String micros = "{'type':'long','logicalType':'timestamp-micros'}";
        String time = "{'type':'long','logicalType':'time-micros'}";
        assertEquals("-1", read("'long'", "bigint", "01"));
        assertEquals("-1.0", read("'long'", "double", "01"));
        assertEquals("-1000", read("'long'", "timestamp", "01"));
        assertEquals("-1000", read(micros, "timestamp", "01"));
        assertEquals("2", read(time, "time(3)", "a01f"));
        assertEquals("2", read(time, "int", "a01f"));
    }

    @Test
    void aRecordReadsWhatColumnsHaveAndSkipsTheRest() {
        String record =
                "{'type':'record','name':'R','fields':[{'name':'a','type':'int'},"
                        + "{'name':'b','type':{'type':'array','items':'string'}},"
                        + "{'name':'c','type':'string'}]}";
        assertEquals(
                "[x,null]",
                read(record, "struct<C: string, D: int>", "02" + "020279" + "00" + "0278"));
    }

    @Test
    void aUnionIsAValueOrAStructWithAFieldForEach() {
        assertEquals("null", read("['null','int']", "int", "00"));
        assertEquals("1", read("['null','int']", "int", "0202"));
        String several = "['int','string','boolean']";
        String columns = "struct<INT: int, STRING: string>";
        assertEquals("[1,null]", read(several, columns, "0002"));
        assertEquals("[null,x]", read(several, columns, "020278"));
        assertEquals("[null,null]", read(several, columns, "0401"));
    }

    @Test
    void aTypeThatDoesNotFitIsRefusedWhereItIsRead() {
        String record =
                "{'type':'record','name':'R','fields':[{'name':'a','type':['null','string']}]}";
        assertEquals("[null]", read(record, "struct<A: int>", "00"));
        assertEquals(
                "The field a is of the Avro type string, which does not fit INT.",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> read(record, "struct<A: int>", "020278"))
                        .getMessage());
    }
}
