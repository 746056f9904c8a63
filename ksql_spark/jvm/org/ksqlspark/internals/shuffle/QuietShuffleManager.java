package org.ksqlspark.internals.shuffle;

import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.streaming.StreamingShuffleManager;
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter;

/**
 * Spark's streaming shuffle, without the threads that wake all the time while nothing comes.
 *
 * <p>Spark sends a buffer that is not full from a thread of the writer's own, which wakes every
 * "spark.shuffle.streaming.networkBufferMaxWaitTimeMs". A short time costs an idle query most of
 * its CPU, a long one delays its rows. Here this thread is only a safeguard: {@link PendingRows}
 * are sent by the task that wrote them. A {@link QuietShuffleReader} reads them.
 */
public final class QuietShuffleManager extends StreamingShuffleManager {
    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle,
            long mapId,
            TaskContext context,
            ShuffleWriteMetricsReporter metrics) {
        ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
        PendingRows.keep(context, (StreamingShuffleWriter<K, V>) writer);
        return writer;
    }

    @Override
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        return new QuietShuffleReader<>(handle, context);
    }
}
