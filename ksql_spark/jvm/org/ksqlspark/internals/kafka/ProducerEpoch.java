package org.ksqlspark.internals.kafka;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.FenceProducersOptions;
import org.apache.kafka.clients.admin.FenceProducersResult;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.internals.TransactionManager;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The id and epoch of an idempotent producer. Once a partition has a record with a later epoch of
 * the same id, its broker takes none with an earlier one.
 *
 * <p>Kafka's transaction coordinator gives them out by name: always the same id, each time a later
 * epoch. Its clients ask for that only with transactions. An idempotent producer without them has
 * an id that it alone has ever had, and is given this one instead.
 */
public final class ProducerEpoch {
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** Queries also start where nobody answers, so this is short. */
    private static final int PATIENCE_MS = 5_000;

    private static final FenceProducersOptions PATIENCE =
            new FenceProducersOptions().timeoutMs(PATIENCE_MS);
    private static final String NO_ANSWER = "it does not answer";
    private static final MethodHandle CLIENT;
    private static final MethodHandle GET;
    private static final MethodHandle SET;

    static {
        try {
            Lookup mine = MethodHandles.lookup();
            Class<?> id = ProducerIdAndEpoch.class;
            Class<?> client = TransactionManager.class;
            Lookup ofClient = MethodHandles.privateLookupIn(client, mine);
            GET = ofClient.findVirtual(client, "producerIdAndEpoch", MethodType.methodType(id));
            MethodType set = MethodType.methodType(void.class, id);
            SET = ofClient.findVirtual(client, "setProducerIdAndEpoch", set);
            CLIENT =
                    MethodHandles.privateLookupIn(KafkaProducer.class, mine)
                            .findGetter(KafkaProducer.class, "transactionManager", client);
        } catch (ReflectiveOperationException changed) {
            throw new ExceptionInInitializerError(changed);
        }
    }

    private final TransactionManager client;
    private volatile ProducerIdAndEpoch given = ProducerIdAndEpoch.NONE;

    /**
     * @param producer an idempotent one without transactions
     */
    public ProducerEpoch(KafkaProducer<?, ?> producer) {
        client = call(() -> (TransactionManager) CLIENT.invokeExact(producer));
    }

    /**
     * Gives the producer a later epoch than all that were given under a name. Nothing may be on its
     * way.
     *
     * @param settings of the producer
     * @throws KafkaException Kafka refuses it, or does not answer
     */
    public void take(String name, Map<String, String> settings) {
        Map<String, Object> known = new HashMap<>(settings);
        known.keySet().retainAll(AdminClientConfig.configNames());
        try (Admin admin = SharedAdmin.of(known, () -> Admin.create(known))) {
            next(admin, name); // the client may use one more than it was given
            give(next(admin, name));
        }
    }

    private static ProducerIdAndEpoch next(Admin admin, String name) {
        try {
            FenceProducersResult next = admin.fenceProducers(List.of(name), PATIENCE);
            return new ProducerIdAndEpoch(next.producerId(name).get(), next.epochId(name).get());
        } catch (ExecutionException failed) {
            Throwable cause = failed.getCause();
            if (cause instanceof TimeoutException) {
                throw new TimeoutException(NO_ANSWER, cause);
            }
            throw cause instanceof KafkaException refused ? refused : new KafkaException(cause);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new KafkaException(stopped);
        }
    }

    private void give(ProducerIdAndEpoch next) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!client.hasProducerId()) { // or else the one that it has asked for would replace it
            if (System.nanoTime() > deadline || Thread.currentThread().isInterrupted()) {
                throw new TimeoutException("the brokers give the producer no id");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        set(next);
    }

    void set(ProducerIdAndEpoch next) {
        synchronized (client) {
            call(
                    () -> {
                        SET.invokeExact(client, next);
                        return null;
                    });
        }
        given = next;
    }

    /** Whether the producer has the epoch that it was given: its client changes it after errors. */
    public boolean isKept() {
        return given.equals(call(() -> (ProducerIdAndEpoch) GET.invokeExact(client)));
    }

    @FunctionalInterface
    private interface Borrowed<T> {
        T call() throws Throwable;
    }

    private static <T> T call(Borrowed<T> method) {
        try {
            return method.call();
        } catch (RuntimeException | Error failed) {
            throw failed;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
