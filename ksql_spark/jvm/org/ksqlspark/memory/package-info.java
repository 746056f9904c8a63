/**
 * What lets Spark need less memory: its settings and threads that no query needs, and the spare
 * heap.
 */
package org.ksqlspark.memory;
