package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Where a task's records go. */
interface Output {
    void send(ProducerRecord<byte[], byte[]> record);

    /** The task has no more; returns what the driver has to know of it. */
    WriterCommitMessage commit();
}
