package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

import java.util.ArrayList;
import java.util.List;

/**
 * A row as a Protobuf message, in Confluent's frame or alone. A row that does not fit the schema is
 * {@link Unwritable}.
 */
public final class ProtobufEncoder extends RowToBytes {
    private final String argument;
    private transient byte[] frame;
    private transient ProtobufMessageWriter writer;
    private transient ProtobufOutput out;

    /**
     * @param argument a JSON object: "schema" is a .proto file, "references" those that it imports,
     *     "path" the place of the message in it, "id" its id; without an id there is no frame
     */
    public ProtobufEncoder(StructType row, String argument) {
        super("encode_protobuf", row);
        this.argument = argument;
        writer(); // says now what does not fit
    }

    private ProtobufMessageWriter writer() {
        if (writer == null) {
            JsonNode given = JsonArgument.parse(argument);
            List<Integer> path = new ArrayList<>();
            given.path("path").forEach(index -> path.add(index.asInt()));
            ProtobufSchema file =
                    new ProtobufSchema(
                            given.path("schema").asText(),
                            JsonArgument.texts(given.path("references")));
            frame = given.has("id") ? frame(given.path("id").asInt(), path) : new byte[0];
            out = new ProtobufOutput();
            writer = new ProtobufMessageWriter(file.message(path), schema, "the row");
        }
        return writer;
    }

    private static byte[] frame(int id, List<Integer> path) {
        ProtobufOutput place = new ProtobufOutput();
        if (path.equals(List.of(0))) {
            place.zigZag(0);
        } else {
            place.zigZag(path.size());
            path.forEach(place::zigZag);
        }
        return place.after(Frame.of(id));
    }

    @Override
    public byte[] invoke(InternalRow row) {
        if (row == null) {
            return null;
        }
        ProtobufMessageWriter message = writer();
        out.clear();
        try {
            message.write(out, row);
        } catch (IllegalArgumentException | ArithmeticException unfit) {
            return Unwritable.because(unfit);
        }
        return out.after(frame);
    }
}
