/** Spark's streaming shuffle, so that it costs next to nothing while no rows come. */
package org.ksqlspark.internals.shuffle;
