/**
 * Exactly once: Kafka's transactions, with which results, state and offsets of a query are
 * committed.
 */
package org.ksqlspark.transaction;
