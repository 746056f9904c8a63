/** What Spark's Kafka source plans and knows, and one admin client for all streams. */
package org.ksqlspark.internals.kafka;
