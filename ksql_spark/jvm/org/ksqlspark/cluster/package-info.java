/**
 * What the JVMs of executors and that of the driver tell each other: which batches end, how far
 * tasks have got, errors of single records. In local mode there is only one JVM, and nothing to
 * tell.
 */
package org.ksqlspark.cluster;
