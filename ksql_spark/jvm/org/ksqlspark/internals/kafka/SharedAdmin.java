package org.ksqlspark.internals.kafka;

import org.apache.kafka.clients.admin.Admin;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * One of Kafka's admin clients for all streams with the same settings. Spark makes one for each
 * stream, which asks it for the ends of topics at each checkpoint: a thread, connections, buffers
 * and metrics that do nothing in between.
 *
 * <p>A stream that had an error closes what it was given, and makes a client of its own.
 */
public final class SharedAdmin {
    private static final Map<Map<String, Object>, SharedAdmin> OPEN = new HashMap<>();

    private final Map<String, Object> settings;
    private final Admin admin;

    /** How many streams have it. */
    private int users;

    private SharedAdmin(Map<String, Object> settings, Admin admin) {
        this.settings = settings;
        this.admin = admin;
    }

    /** Gives it to a stream that has no admin client yet. */
    public static void give(MicroBatchStream stream) {
        if (stream instanceof KafkaMicroBatchStream kafka
                && kafka.kafkaOffsetReader() instanceof KafkaOffsetReaderAdmin reader
                && reader._admin() == null) {
            reader._admin_$eq(of(reader.driverKafkaParams(), reader::admin));
        }
    }

    /**
     * The admin client with these settings, to be closed; the last one to do so closes it for all.
     *
     * @param first makes it where there is none
     */
    static Admin of(Map<String, Object> settings, Supplier<Admin> first) {
        synchronized (OPEN) {
            SharedAdmin shared =
                    OPEN.computeIfAbsent(
                            Map.copyOf(settings), key -> new SharedAdmin(key, first.get()));
            shared.users++;
            Class<?>[] faces = {Admin.class};
            Object face =
                    Proxy.newProxyInstance(Admin.class.getClassLoader(), faces, shared.new Face());
            return (Admin) face;
        }
    }

    private void leave() {
        synchronized (OPEN) {
            users--;
            if (users > 0) {
                return;
            }
            OPEN.remove(settings);
        }
        admin.close();
    }

    /** What one stream sees of it. */
    private final class Face implements InvocationHandler {
        private boolean isClosed;

        @Override
        public Object invoke(Object face, Method method, Object[] given) throws Throwable {
            if (method.getName().equals("close")) {
                close();
                return null;
            }
            try {
                return method.invoke(admin, given);
            } catch (InvocationTargetException failed) {
                throw failed.getCause();
            }
        }

        private synchronized void close() {
            if (!isClosed) {
                isClosed = true;
                leave();
            }
        }
    }
}
