package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * The stored form of a group's state for one of our aggregate functions. The first byte is the
 * version of the layout; numbers are big-endian. Java serialization, which Spark uses to move
 * states within a batch, is never stored, because it contains names of classes and fields.
 *
 * @param <S> the state
 */
public interface StateLayout<S> {
    /**
     * Version of all layouts. A layout that changes gets its own version, and still reads the older
     * ones.
     */
    byte VERSION = 1;

    /** Writes what follows the version. */
    void write(S state, DataOutputStream out) throws IOException;

    /** Reads what {@link #write} wrote; {@code in} may be kept. */
    S read(ByteBuffer in);

    /** Writes bytes that may be null: a byte, 0 or 1, and the bytes, up to the end of the state. */
    static void writeBytes(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeBoolean(bytes != null);
        if (bytes != null) {
            out.write(bytes);
        }
    }

    /** Reads what {@link #writeBytes} wrote. */
    static byte[] readBytes(ByteBuffer in) {
        if (in.get() == 0) {
            return null;
        }
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return bytes;
    }

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
     * @throws IllegalStateException if they have another version
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

    /**
     * The columns of the buffer of Spark's function that release 0.1.0 used in place of this one;
     * null: it used this one.
     */
    default StructType formerBuffer() {
        return null;
    }

    /** The state that such a buffer holds, which begins at a column of a row. */
    default S ofFormer(InternalRow buffer, int from) {
        throw new UnsupportedOperationException();
    }

    /** Writes a row as its size and its bytes. */
    static void writeRow(UnsafeRow row, DataOutputStream out) throws IOException {
        byte[] bytes = row.getBytes();
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    /** The row that {@link #writeRow} wrote, without a copy. */
    static UnsafeRow readRow(ByteBuffer in, int fields) {
        int size = in.getInt();
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(in.array(), Platform.BYTE_ARRAY_OFFSET + in.position(), size);
        in.position(in.position() + size);
        return row;
    }
}
