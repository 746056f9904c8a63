package org.ksqlspark.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.hadoop.conf.Configuration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.parquet.conf.ParquetConfiguration;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.api.InitContext;
import org.apache.parquet.hadoop.api.ReadSupport;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.Converter;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.io.api.PrimitiveConverter;
import org.apache.parquet.io.api.RecordMaterializer;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Makes Kafka's records of the rows of an archive's file, without an object for each row and column
 * between them: most of the time of reading would go there.
 */
final class ArchivedRecords extends ReadSupport<ConsumerRecord<byte[], byte[]>> {
    /** The columns that records are made of; their names are in lake/archives.py, too. */
    private static final Set<String> COLUMNS =
            Set.of("offset", "timestamp", "key", "headers", "value");

    private final TopicPartition at;

    private ArchivedRecords(TopicPartition at) {
        this.at = at;
    }

    /** A reader of a file, for a partition of a topic. */
    static ParquetReader.Builder<ConsumerRecord<byte[], byte[]>> reader(
            InputFile file, TopicPartition at) {
        return new ParquetReader.Builder<>(file) {
            @Override
            protected ReadSupport<ConsumerRecord<byte[], byte[]>> getReadSupport() {
                return new ArchivedRecords(at);
            }
        };
    }

    @Override
    public ReadContext init(InitContext context) {
        MessageType there = context.getFileSchema();
        List<Type> wanted =
                there.getFields().stream().filter(f -> COLUMNS.contains(f.getName())).toList();
        return new ReadContext(new MessageType(there.getName(), wanted));
    }

    @Override
    public RecordMaterializer<ConsumerRecord<byte[], byte[]>> prepareForRead(
            Configuration configuration,
            Map<String, String> metadata,
            MessageType schema,
            ReadContext context) {
        return new Row(at, context.getRequestedSchema());
    }

    @Override
    public RecordMaterializer<ConsumerRecord<byte[], byte[]>> prepareForRead(
            ParquetConfiguration configuration,
            Map<String, String> metadata,
            MessageType schema,
            ReadContext context) {
        return new Row(at, context.getRequestedSchema());
    }

    /** Takes the columns of one row after another. */
    private static final class Row extends RecordMaterializer<ConsumerRecord<byte[], byte[]>> {
        private final TopicPartition at;
        private final Whole offset = new Whole();
        private final Whole micros = new Whole();
        private final Bytes key = new Bytes();
        private final Bytes value = new Bytes();
        private final Bytes headerName = new Bytes();
        private final Bytes headerValue = new Bytes();
        private final GroupConverter root;
        private RecordHeaders headers = new RecordHeaders();

        Row(TopicPartition at, MessageType schema) {
            this.at = at;
            Runnable none = () -> {};
            Group header = new Group(this::clearHeader, this::addHeader, headerName, headerValue);
            Group list = new Group(none, none, new Group(none, none, header));
            Converter[] columns =
                    schema.getFields().stream()
                            .map(
                                    field ->
                                            switch (field.getName()) {
                                                case "offset" -> offset;
                                                case "timestamp" -> micros;
                                                case "key" -> key;
                                                case "value" -> value;
                                                default -> list;
                                            })
                            .toArray(Converter[]::new);
            root = new Group(this::clear, none, columns);
        }

        private void clear() {
            key.bytes = null;
            value.bytes = null;
            headers = new RecordHeaders();
        }

        private void clearHeader() {
            headerName.bytes = null;
            headerValue.bytes = null;
        }

        private void addHeader() {
            headers.add(new String(headerName.bytes, UTF_8), headerValue.bytes);
        }

        @Override
        public GroupConverter getRootConverter() {
            return root;
        }

        @Override
        public ConsumerRecord<byte[], byte[]> getCurrentRecord() {
            return new ConsumerRecord<>(
                    at.topic(),
                    at.partition(),
                    offset.value,
                    Math.floorDiv(micros.value, 1000),
                    TimestampType.CREATE_TIME,
                    size(key.bytes),
                    size(value.bytes),
                    key.bytes,
                    value.bytes,
                    headers,
                    Optional.empty());
        }

        private static int size(byte[] bytes) {
            return bytes == null ? ConsumerRecord.NULL_SIZE : bytes.length;
        }
    }

    /** A column of numbers. */
    private static final class Whole extends PrimitiveConverter {
        private long value;

        @Override
        public void addLong(long found) {
            value = found;
        }
    }

    /** A column of bytes or text; null: the row has none. */
    private static final class Bytes extends PrimitiveConverter {
        private byte[] bytes;

        @Override
        public void addBinary(Binary found) {
            bytes = found.getBytes();
        }
    }

    /** A group of columns. */
    private static final class Group extends GroupConverter {
        private final Runnable begins;
        private final Runnable ends;
        private final Converter[] columns;

        Group(Runnable begins, Runnable ends, Converter... columns) {
            this.begins = begins;
            this.ends = ends;
            this.columns = columns;
        }

        @Override
        public Converter getConverter(int column) {
            return columns[column];
        }

        @Override
        public void start() {
            begins.run();
        }

        @Override
        public void end() {
            ends.run();
        }
    }
}
