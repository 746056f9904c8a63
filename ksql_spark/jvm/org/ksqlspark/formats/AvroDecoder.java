package org.ksqlspark.formats;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.ksqlspark.registry.RegistryClient;

import java.util.HashMap;
import java.util.Map;

/**
 * Avro in Confluent's frame (a zero, four bytes of a schema's id, the body) to a row: each record
 * is resolved from its own writer's schema to the columns, straight from its bytes.
 */
public final class AvroDecoder extends BytesToRow {
    private final Map<String, String> registry;
    private transient ReaderCache<AvroReader> readers;
    private transient AvroInput input;

    /**
     * @param registry the registry's settings, see RegistryClient
     */
    public AvroDecoder(String ddl, Map<String, String> registry) {
        super("decode_avro", ddl);
        this.registry = new HashMap<>(registry);
    }

    @Override
    public InternalRow invoke(byte[] data) {
        return orNull(data);
    }

    @Override
    protected InternalRow decode(byte[] data) {
        int frame = Frame.size(data);
        if (readers == null) {
            readers = new ReaderCache<>(this::reader);
            input = new AvroInput();
        }
        AvroReader reader =
                frame == Frame.BY_ID
                        ? readers.byId(Frame.id(data))
                        : readers.by(Frame.writer(data));
        input.start(data, frame);
        Object value = reader.read(input);
        if (input.left() > 0) {
            throw new IllegalArgumentException("There are bytes after its end.");
        }
        return row(value);
    }

    private AvroReader reader(Object writtenBy) {
        Schema writer = AvroSchema.parse(RegistryClient.of(registry).schema(writtenBy));
        return AvroReader.of(writer, type());
    }
}
