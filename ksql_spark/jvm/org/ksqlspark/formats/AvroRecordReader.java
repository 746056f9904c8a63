package org.ksqlspark.formats;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

import java.util.Arrays;
import java.util.List;

/**
 * Reads a record as a row. Fields match columns exactly or whatever their case; a column that the
 * writer has not is NULL.
 */
final class AvroRecordReader implements AvroReader {
    /** The path of the whole record. */
    static final String WHOLE = "It";

    private final int size;
    private final Schema[] fields;

    /** By field: its column, or -1; and what reads it. */
    private final int[] ordinals;

    private final AvroReader[] readers;

    AvroRecordReader(Schema writer, StructType struct, String path) {
        size = struct.size();
        fields = writer.getFields().stream().map(Schema.Field::schema).toArray(Schema[]::new);
        ordinals = new int[fields.length];
        readers = new AvroReader[fields.length];
        Arrays.fill(ordinals, -1);
        List<String> names = writer.getFields().stream().map(Schema.Field::name).toList();
        String above = path.equals(WHOLE) ? "The field " : path + ".";
        for (int i = 0; i < size; i++) {
            StructField column = struct.fields()[i];
            int at = ColumnNames.first(names, column.name());
            if (at >= 0 && (ordinals[at] < 0 || names.get(at).equals(column.name()))) {
                ordinals[at] = i;
                readers[at] = AvroReader.of(fields[at], column.dataType(), above + names.get(at));
            }
        }
    }

    @Override
    public InternalRow read(AvroInput in) {
        Object[] values = new Object[size];
        for (int i = 0; i < ordinals.length; i++) {
            if (ordinals[i] >= 0) {
                values[ordinals[i]] = readers[i].read(in);
            } else {
                in.skip(fields[i]);
            }
        }
        return new GenericInternalRow(values);
    }
}
