package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.CodedInputStream;

import org.apache.spark.sql.catalyst.InternalRow;
import org.ksqlspark.registry.RegistryClient;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Protobuf to a row, straight from its bytes: each record by its own writer's message.
 *
 * <p>In Confluent's frame: a zero, four bytes of a schema's id, the place of the message in it, the
 * message. Or the message alone, by a schema that is given.
 */
public final class ProtobufDecoder extends BytesToRow {
    private static final List<Integer> FIRST = List.of(0);

    private final Map<String, String> registry;
    private final String given;
    private transient ProtobufMessageReader only;
    private transient ReaderCache<ProtobufMessageReader> readers;

    /** A message in a schema, which has an id or GUID. */
    private record Place(Object writer, List<Integer> path) {}

    /**
     * @param argument a JSON object: "ddl" is the columns; "schema" is a .proto file, by whose
     *     first message all records are written, without a frame
     * @param registry the registry's settings, see RegistryClient
     */
    public ProtobufDecoder(String argument, Map<String, String> registry) {
        this(JsonArgument.parse(argument), registry);
    }

    private ProtobufDecoder(JsonNode argument, Map<String, String> registry) {
        super("decode_protobuf", argument.path("ddl").asText());
        this.given = argument.path("schema").asText(null);
        this.registry = new HashMap<>(registry);
    }

    @Override
    public InternalRow invoke(byte[] data) {
        return orNull(data);
    }

    @Override
    protected InternalRow decode(byte[] data) {
        try {
            return given == null ? framed(data) : bare(data);
        } catch (IOException bad) {
            throw new IllegalArgumentException(
                    "It is not a Protobuf message: " + bad.getMessage(), bad);
        }
    }

    private InternalRow bare(byte[] data) throws IOException {
        if (only == null) {
            ProtobufSchema writer = new ProtobufSchema(given, List.of());
            only = new ProtobufMessageReader(writer.message(FIRST), schema);
        }
        return only.read(CodedInputStream.newInstance(data));
    }

    private InternalRow framed(byte[] data) throws IOException {
        int frame = Frame.size(data);
        CodedInputStream in = CodedInputStream.newInstance(data, frame, data.length - frame);
        List<Integer> path = path(in, data.length);
        if (readers == null) {
            readers = new ReaderCache<>(this::reader);
        }
        ProtobufMessageReader reader =
                frame == Frame.BY_ID && path == FIRST
                        ? readers.byId(Frame.id(data))
                        : readers.by(new Place(Frame.writer(data), path));
        return reader.read(in);
    }

    /** The place of the message in its schema; none stands for the first one. */
    private static List<Integer> path(CodedInputStream in, int most) throws IOException {
        long count = ProtobufWire.zigZag(in);
        if (count == 0) {
            return FIRST;
        }
        if (count < 0 || count > most) {
            throw new IllegalArgumentException("The place of its message cannot be read.");
        }
        List<Integer> path = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            path.add(Math.toIntExact(ProtobufWire.zigZag(in)));
        }
        return path;
    }

    private ProtobufMessageReader reader(Object key) {
        Place place = key instanceof Place p ? p : new Place(key, FIRST);
        RegistryClient.Registered writer = RegistryClient.of(registry).schema(place.writer);
        ProtobufSchema file = new ProtobufSchema(writer.text(), writer.references());
        return new ProtobufMessageReader(file.message(place.path), schema);
    }
}
