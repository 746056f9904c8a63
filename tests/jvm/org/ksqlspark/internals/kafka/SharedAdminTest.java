package org.ksqlspark.internals.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Metric;
import org.junit.jupiter.api.Test;

import java.util.Collection;
import java.util.Map;

class SharedAdminTest {
    private static Admin of(String client) {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", "localhost:1", "client.id", client);
        return SharedAdmin.of(settings, () -> Admin.create(settings));
    }

    /** A metric of the client behind {@code admin}: another client has another one. */
    private static Metric metric(Admin admin) {
        return admin.metrics().values().iterator().next();
    }

    private static int openAdmins() {
        return (int)
                Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("kafka-admin-client-thread"))
                        .count();
    }

    @Test
    void streamsWithTheSameSettingsHaveOne() {
        try (Admin one = of("a");
                Admin same = of("a");
                Admin other = of("b")) {
            assertSame(metric(one), metric(same));
            assertNotSame(metric(one), metric(other));
        }
    }

    @Test
    void itIsClosedByTheLastStreamThatHasIt() {
        Admin one = of("c");
        Admin other = of("c");
        one.close();
        one.close();
        assertEquals(1, openAdmins());
        assertSame(metric(one), metric(other));
        other.close();
        assertEquals(0, openAdmins());
        try (Admin next = of("c")) {
            assertNotSame(metric(one), metric(next));
        }
    }

    @Test
    void errorsAreThoseOfTheClient() {
        try (Admin admin = of("d")) {
            assertThrows(
                    NullPointerException.class,
                    () -> admin.describeTopics((Collection<String>) null));
        }
    }
}
