/**
 * What Kafka's own clients and Spark's Kafka connector lack: a source that can be drained, and
 * event times.
 */
package org.ksqlspark.kafka;
