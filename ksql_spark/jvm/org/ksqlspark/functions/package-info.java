/** Scalar functions that Catalyst lacks or computes differently from ksqlDB. */
package org.ksqlspark.functions;
