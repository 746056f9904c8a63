package org.ksqlspark.internals.shuffle;

import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleReader;
import org.apache.spark.util.ErrorNotifier;

import scala.Option;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Spark's reader of a streaming shuffle, which looks for failures less often than every 10 ms and
 * keeps no threads that have nothing left to do.
 */
final class QuietShuffleReader<K, C> extends StreamingShuffleReader<K, C> {
    /** How long to wait for a message before looking whether the task has failed, ms. */
    private static final long LOOK_MS = 250;

    /** How long rows wait that the task has written while messages keep coming, ns. */
    private static final long SEND_NS = TimeUnit.MILLISECONDS.toNanos(2);

    /** How long a thread of a reader stays that has nothing left to do, s. */
    private static final long IDLE_S = 5;

    /** The messages that came; Spark's constructor asks for it before ours runs. */
    private LinkedBlockingQueue<StreamingShuffleMessage> messages;

    QuietShuffleReader(ShuffleHandle handle, TaskContext context) {
        super(handle, context, Option.empty(), new ErrorNotifier());
        // they find the writers and connect to them, and would then wait until the reader is closed
        endIdleThreads(taskDiscoveryExecutor());
        endIdleThreads(clientCreationExecutor());
    }

    private static void endIdleThreads(ThreadPoolExecutor threads) {
        threads.setKeepAliveTime(IDLE_S, TimeUnit.SECONDS);
        threads.allowCoreThreadTimeOut(true);
    }

    @Override
    public synchronized LinkedBlockingQueue<StreamingShuffleMessage> messageQueue() {
        if (messages == null) {
            messages = new PatientQueue();
        }
        return messages;
    }

    private static final class PatientQueue extends LinkedBlockingQueue<StreamingShuffleMessage> {
        private static final long serialVersionUID = 1L;

        private long sent;

        @Override
        public StreamingShuffleMessage poll(long timeout, TimeUnit unit)
                throws InterruptedException {
            StreamingShuffleMessage there = super.poll();
            long now = System.nanoTime();
            if (there == null || now - sent > SEND_NS) {
                PendingRows.send(
                        TaskContext.get()); // the task is about to wait, or has worked for long
                sent = now;
            }
            if (there != null) {
                return there;
            }
            return super.poll(Math.max(unit.toMillis(timeout), LOOK_MS), TimeUnit.MILLISECONDS);
        }
    }
}
