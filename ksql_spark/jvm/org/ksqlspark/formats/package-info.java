/** Decoders and encoders of record keys and values: bytes to Spark's rows and back. */
package org.ksqlspark.formats;
