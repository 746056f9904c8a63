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

    /** Sends those of a task, which may be null; does nothing where there are none. */
    public static void send(TaskContext task) {
        PendingRows rows = task == null ? null : BY_TASK.get(task.taskAttemptId());
        if (rows != null) {
            for (var shard : rows.writer.shards()) {
                shard.send();
            }
        }
    }
}
