/** User functions: rows to Python worker processes and back, as Arrow batches. */
package org.ksqlspark.python;
