/**
 * What Spark's Kafka source plans and knows, one admin client for all streams, and the epochs and
 * sizes of what producers send.
 */
package org.ksqlspark.internals.kafka;
