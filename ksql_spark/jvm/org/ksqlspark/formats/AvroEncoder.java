package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.registry.RegistryClient;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * A row as Avro in Confluent's frame, by a registered schema: fields that are not columns have
 * their defaults. Bare: the row's single value alone, NULL as a null record. A row that does not
 * fit the schema is {@link Unwritable}.
 */
public final class AvroEncoder extends RowToBytes {
    private final boolean bare;
    private final byte[] frame;
    private final String text;
    private final List<String> references;
    private transient AvroWriter writer;
    private transient ByteArrayOutputStream bytes;
    private transient BinaryEncoder out;

    /**
     * @param argument a JSON object: "id" and "schema" are the schema's id and text, "references"
     *     those that it refers to, each after those that it refers to itself
     */
    public AvroEncoder(StructType row, boolean bare, String argument) {
        super("encode_avro", row);
        JsonNode given = JsonArgument.parse(argument);
        this.bare = bare;
        this.frame = Frame.of(given.path("id").asInt());
        this.text = given.path("schema").asText();
        this.references = JsonArgument.texts(given.path("references"));
        writer(); // says now what does not fit
    }

    private AvroWriter writer() {
        if (writer == null) {
            DataType type = bare ? schema.fields()[0].dataType() : schema;
            writer =
                    AvroWriter.of(
                            AvroSchema.parse(new RegistryClient.Registered(text, references)),
                            type);
            if (writer == null) {
                throw new IllegalArgumentException(
                        "Values of type %s do not fit the schema %s."
                                .formatted(type.sql(), Frame.id(frame)));
            }
            bytes = new ByteArrayOutputStream(256);
        }
        return writer;
    }

    @Override
    public byte[] invoke(InternalRow row) {
        if (row == null || bare && row.isNullAt(0)) {
            return null;
        }
        AvroWriter to = writer();
        bytes.reset();
        bytes.writeBytes(frame);
        out = EncoderFactory.get().directBinaryEncoder(bytes, out);
        try {
            to.write(out, bare ? row : new GenericInternalRow(new Object[] {row}), 0);
            out.flush();
        } catch (IllegalArgumentException | ArithmeticException unfit) {
            return Unwritable.because(unfit);
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }
}
