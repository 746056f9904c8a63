/** The processing log: what went wrong with single records, counted and written to a topic. */
package org.ksqlspark.log;
