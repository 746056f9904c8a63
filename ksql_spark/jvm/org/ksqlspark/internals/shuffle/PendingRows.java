package org.ksqlspark.internals.shuffle;

import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter;
import org.apache.spark.util.TaskCompletionListener;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The rows that a task has written to a streaming shuffle and that wait in its buffers. */
public final class PendingRows {
    private static final Map<Long, PendingRows> BY_TASK = new ConcurrentHashMap<>();

    private final StreamingShuffleWriter<?, ?> writer;

    private PendingRows(StreamingShuffleWriter<?, ?> writer) {
        this.writer = writer;
    }

    static void keep(TaskContext task, StreamingShuffleWriter<?, ?> writer) {
        long id = task.taskAttemptId();
        BY_TASK.put(id, new PendingRows(writer));
        task.addTaskCompletionListener((TaskCompletionListener) over -> BY_TASK.remove(id));
    }

    /** Those of a task; null where it does not write to a streaming shuffle. */
    public static PendingRows of(TaskContext task) {
        return BY_TASK.get(task.taskAttemptId());
    }

    /** Sends them; does nothing where there are none. */
    public void send() {
        for (var shard : writer.shards()) {
            shard.send();
        }
    }
}
