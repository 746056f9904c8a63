/**
 * Physical plans as tasks of Kafka Streams run them: inputs that meet in the order of their times,
 * and no exchange where records are already where their keys belong. Logical plans that Spark
 * analyses and optimizes only once.
 */
package org.ksqlspark.internals.task;
