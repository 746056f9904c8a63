package org.ksqlspark.internals.state;

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.ttl.TTLState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;

import java.lang.reflect.Proxy;

/**
 * A moment at which a stateful processor may still write, after a batch's last record and before
 * its state is committed. Spark has none: close() comes too late. But just before the commit, and
 * in real-time mode from time to time, it lets states with a time to live remove what has expired;
 * so we pose as one.
 */
public final class BeforeCommit {
    private BeforeCommit() {}

    /**
     * Have {@code write} called, in the task's thread and with its key.
     *
     * @return false where the processor does not run in a task, or Spark is not as we know it
     */
    public static boolean call(StatefulProcessorHandle handle, Runnable write) {
        if (!(handle instanceof StatefulProcessorHandleImpl ours)) {
            return false;
        }
        Object state =
                Proxy.newProxyInstance(
                        BeforeCommit.class.getClassLoader(),
                        new Class<?>[] {TTLState.class},
                        (proxy, method, arguments) -> {
                            if (!method.getName().equals("clearExpiredStateForAllKeys")) {
                                throw new UnsupportedOperationException(method.getName());
                            }
                            write.run();
                            return 0L; // nothing has expired
                        });
        ours.ttlStates().add((TTLState) state);
        return true;
    }

    /**
     * Rows whose grouping key stays the one at hand. They may come from another operator in the
     * same thread, which leaves none.
     */
    public static <T> scala.collection.Iterator<T> with(
            Object key, scala.collection.Iterator<T> rows) {
        return new scala.collection.AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                boolean has = rows.hasNext();
                ImplicitGroupingKeyTracker.setImplicitKey(key);
                return has;
            }

            @Override
            public T next() {
                T row = rows.next();
                ImplicitGroupingKeyTracker.setImplicitKey(key);
                return row;
            }
        };
    }

    /** Do something with the state of a grouping key, whichever is the one at hand. */
    public static void with(Object key, Runnable write) {
        scala.Option<Object> before = ImplicitGroupingKeyTracker.getImplicitKeyOption();
        ImplicitGroupingKeyTracker.setImplicitKey(key);
        try {
            write.run();
        } finally {
            if (before.isDefined()) {
                ImplicitGroupingKeyTracker.setImplicitKey(before.get());
            } else {
                ImplicitGroupingKeyTracker.removeImplicitKey();
            }
        }
    }
}
