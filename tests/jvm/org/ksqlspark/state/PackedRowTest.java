package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class PackedRowTest {
    private static final String DDL = "A INT, B STRING, C STRUCT<D: DOUBLE>";

    @Test
    void aRowComesBackAsItWas() {
        InternalRow nested = new GenericInternalRow(new Object[] {2.5});
        InternalRow row =
                new GenericInternalRow(new Object[] {1, UTF8String.fromString("naïve"), nested});
        PackedRow.Pack pack = new PackedRow.Pack(StructType.fromDDL(DDL));
        InternalRow again = new PackedRow.Unpack(DDL).invoke(pack.invoke(row));
        assertEquals(1, again.getInt(0));
        assertEquals("naïve", again.getUTF8String(1).toString());
        assertEquals(2.5, again.getStruct(2, 1).getDouble(0));
    }

    @Test
    void nullsStayNulls() {
        PackedRow.Pack pack = new PackedRow.Pack(StructType.fromDDL(DDL));
        InternalRow again =
                new PackedRow.Unpack(DDL).invoke(pack.invoke(new GenericInternalRow(3)));
        assertTrue(again.isNullAt(0) && again.isNullAt(1) && again.isNullAt(2));
        assertNull(pack.invoke(null));
        assertNull(new PackedRow.Unpack(DDL).invoke(null));
        assertNull(new PackedRow.Unpack(DDL).invoke(new byte[0]));
    }

    @Test
    void equalRowsHaveEqualBytes() {
        PackedRow.Pack pack = new PackedRow.Pack(StructType.fromDDL("A STRING"));
        byte[] first =
                pack.invoke(
                        new GenericInternalRow(
                                new Object[] {UTF8String.fromString("longer text")}));
        pack.invoke(new GenericInternalRow(new Object[] {UTF8String.fromString("another")}));
        byte[] second =
                pack.invoke(
                        new GenericInternalRow(
                                new Object[] {UTF8String.fromString("longer text")}));
        assertArrayEquals(first, second);
    }

    @Test
    void equalKeysHaveEqualBytes() {
        PackedRow.PackKey pack =
                new PackedRow.PackKey(
                        StructType.fromDDL("A DOUBLE, B STRUCT<C: ARRAY<DOUBLE>>, D STRING"));
        byte[] positive = pack.invoke(key(0.0, Double.NaN));
        assertArrayEquals(positive, pack.invoke(key(-0.0, Double.longBitsToDouble(-1))));
        InternalRow again =
                new PackedRow.Unpack("A DOUBLE, B STRUCT<C: ARRAY<DOUBLE>>, D STRING")
                        .invoke(positive);
        assertEquals(0.0, again.getDouble(0));
        assertTrue(again.getStruct(1, 1).getArray(0).isNullAt(1));
        assertEquals("x", again.getUTF8String(2).toString());
        assertNull(pack.invoke(null));
    }

    private static InternalRow key(double number, double nested) {
        GenericArrayData array = new GenericArrayData(new Object[] {nested, null, number});
        return new GenericInternalRow(
                new Object[] {
                    number, new GenericInternalRow(new Object[] {array}), UTF8String.fromString("x")
                });
    }
}
