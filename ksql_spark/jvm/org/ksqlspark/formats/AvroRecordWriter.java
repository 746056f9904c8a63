package org.ksqlspark.formats;

import org.apache.avro.JsonProperties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.StructType;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;

/** Writes a STRUCT as a record: each field from its column, or else its default. */
final class AvroRecordWriter implements AvroWriter {
    private final int size;
    private final Field[] fields;

    /**
     * @param ordinal its column; -1: there is none
     * @param standard the bytes that stand for NULL, or null
     */
    private record Field(String name, int ordinal, AvroWriter writer, byte[] standard) {}

    private AvroRecordWriter(int size, Field[] fields) {
        this.size = size;
        this.fields = fields;
    }

    /** Null: a column does not fit its field. */
    static AvroRecordWriter of(Schema schema, StructType struct) {
        Field[] fields = new Field[schema.getFields().size()];
        for (Schema.Field field : schema.getFields()) {
            int at = ColumnNames.last(List.of(struct.fieldNames()), field.name());
            // what cannot be NULL has its default then, as Connect does it
            boolean isNeeded = at < 0 || field.hasDefaultValue() && !field.schema().isNullable();
            byte[] standard = isNeeded ? standard(field) : null;
            AvroWriter writer =
                    at < 0 ? null : AvroWriter.of(field.schema(), struct.fields()[at].dataType());
            if (at >= 0 && writer == null) {
                return null;
            }
            fields[field.pos()] = new Field(field.name(), at, writer, standard);
        }
        return new AvroRecordWriter(struct.size(), fields);
    }

    /** The bytes of a field's default; of a null where it has none. */
    private static byte[] standard(Schema.Field field) {
        Object value = null;
        if (field.hasDefaultValue() && field.defaultVal() != JsonProperties.NULL_VALUE) {
            value = GenericData.get().getDefaultValue(field);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder out = EncoderFactory.get().directBinaryEncoder(bytes, null);
        try {
            new GenericDatumWriter<>(field.schema()).write(value, out);
            out.flush();
        } catch (IOException | RuntimeException none) {
            throw new IllegalArgumentException(
                    "The field " + field.name() + " is not a column and has no default.", none);
        }
        return bytes.toByteArray();
    }

    @Override
    public void write(Encoder out, SpecializedGetters from, int at) throws IOException {
        InternalRow row = from.getStruct(at, size);
        for (Field field : fields) {
            if (field.ordinal < 0 || field.standard != null && row.isNullAt(field.ordinal)) {
                out.writeFixed(field.standard);
                continue;
            }
            try {
                field.writer.write(out, row, field.ordinal);
            } catch (IllegalArgumentException | ArithmeticException unfit) {
                throw Unwritable.at(field.name, unfit);
            }
        }
    }
}
