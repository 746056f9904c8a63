package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * The bytes of a group's state as a query stores them: of an aggregate function of ours, in a
 * layout of its own. The first byte is the layout's version; numbers are big-endian. Java's own
 * serialization, by which Spark moves states within one batch, never reaches a store: it names
 * classes and fields.
 *
 * @param <S> the state
 */
public interface StateLayout<S> {
    /**
     * Of all layouts; a layout that changes gets a version of its own, and reads the older ones.
     */
    byte VERSION = 1;

    /** Write what comes after the version. */
    void write(S state, DataOutputStream out) throws IOException;

    /** Read what {@link #write} wrote; {@code in} may be kept. */
    S read(ByteBuffer in);

    /** The state as bytes. */
    default byte[] store(S state) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            write(state, out);
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    /**
     * The state in bytes that {@link #store} made; they must not change afterwards.
     *
     * @throws IllegalStateException where they are of another version
     */
    default S restore(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        byte version = in.get();
        if (version != VERSION) {
            throw new IllegalStateException(
                    "The state of an aggregate has version "
                            + version
                            + "; this ksql-spark reads version "
                            + VERSION
                            + ".");
        }
        return read(in);
    }

    /** A row as its size and its bytes. */
    static void writeRow(UnsafeRow row, DataOutputStream out) throws IOException {
        byte[] bytes = row.getBytes();
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    /** The row that {@link #writeRow} wrote, not copied. */
    static UnsafeRow readRow(ByteBuffer in, int fields) {
        int size = in.getInt();
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(in.array(), Platform.BYTE_ARRAY_OFFSET + in.position(), size);
        in.position(in.position() + size);
        return row;
    }
}
