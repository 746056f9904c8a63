package org.ksqlspark.cluster;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;

/**
 * Reports and replies as bytes. Spark's own messages are read with the class loader of Spark's
 * jars, and in executors our classes are in another one.
 */
final class Message {
    private Message() {}

    static byte[] write(Serializable message) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(message);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    static Object read(byte[] message) {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(message))) {
            return in.readObject();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        } catch (ClassNotFoundException other) {
            throw new IllegalStateException("driver and executors run different versions", other);
        }
    }
}
