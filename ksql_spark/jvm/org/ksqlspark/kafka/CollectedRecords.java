package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * What a task of an executor has for a query that is exactly once: the driver, where the
 * transaction is, sends it when all tasks of the batch are done. So only what a successful attempt
 * has made is written.
 */
final class CollectedRecords implements WriterCommitMessage {
    private static final long serialVersionUID = 1;

    /** Of arrays that are null. */
    private static final int NONE = -1;

    /** Bytes of whole records. */
    private final byte[][] parts;

    private CollectedRecords(byte[][] parts) {
        this.parts = parts;
    }

    /**
     * Hands over the records, in order.
     *
     * @param topic where they are to be written
     */
    void forEach(String topic, Consumer<ProducerRecord<byte[], byte[]>> taken) {
        for (byte[] part : parts) {
            ByteArrayInputStream bytes = new ByteArrayInputStream(part);
            DataInputStream in = new DataInputStream(bytes);
            try {
                while (bytes.available() > 0) {
                    taken.accept(read(topic, in));
                }
            } catch (IOException impossible) {
                throw new UncheckedIOException(impossible);
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> read(String topic, DataInputStream in)
            throws IOException {
        int partition = in.readInt();
        long time = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        int count = in.readInt();
        List<Header> headers = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            String name = new String(readBytes(in), StandardCharsets.UTF_8);
            headers.add(new RecordHeader(name, readBytes(in)));
        }
        return new ProducerRecord<>(
                topic,
                partition == NONE ? null : partition,
                time == NONE ? null : time,
                key,
                value,
                headers);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        return length == NONE ? null : in.readNBytes(length);
    }

    /** Takes records until a task ends; not thread-safe. */
    static final class Collector implements Output {
        private static final int PART_BYTES = 1 << 20;

        private final long maxBytes;
        private final List<byte[]> parts = new ArrayList<>();
        private final ByteArrayOutputStream part = new ByteArrayOutputStream();
        private final DataOutputStream out = new DataOutputStream(part);
        private long full;

        /**
         * @param maxBytes so much may come from all tasks of a batch; 0: any number
         */
        Collector(long maxBytes) {
            this.maxBytes = maxBytes;
        }

        /**
         * Takes a record; not its topic.
         *
         * @throws IllegalStateException there are too many
         */
        @Override
        public void send(ProducerRecord<byte[], byte[]> record) {
            try {
                out.writeInt(record.partition() == null ? NONE : record.partition());
                out.writeLong(record.timestamp() == null ? NONE : record.timestamp());
                write(record.key());
                write(record.value());
                Header[] headers = record.headers().toArray();
                out.writeInt(headers.length);
                for (Header header : headers) {
                    write(header.key().getBytes(StandardCharsets.UTF_8));
                    write(header.value());
                }
            } catch (IOException impossible) {
                throw new UncheckedIOException(impossible);
            }
            if (part.size() >= PART_BYTES) {
                endPart();
            }
            // Spark counts the bytes of all tasks once they are done
            if (maxBytes > 0 && full > maxBytes) {
                throw new IllegalStateException(
                        "results of one task are bigger than spark.driver.maxResultSize ("
                                + maxBytes
                                + " bytes)");
            }
        }

        private void write(byte[] bytes) throws IOException {
            out.writeInt(bytes == null ? NONE : bytes.length);
            if (bytes != null) {
                out.write(bytes);
            }
        }

        private void endPart() {
            full += part.size();
            parts.add(part.toByteArray());
            part.reset();
        }

        @Override
        public WriterCommitMessage commit() {
            if (part.size() > 0) {
                endPart();
            }
            return new CollectedRecords(parts.toArray(new byte[0][]));
        }
    }
}
