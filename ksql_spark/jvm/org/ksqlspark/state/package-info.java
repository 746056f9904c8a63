/**
 * Keyed operators (joins, aggregates, table changes) with their state, the aggregates that they
 * drive, and how rows and checkpoints are stored.
 */
package org.ksqlspark.state;
