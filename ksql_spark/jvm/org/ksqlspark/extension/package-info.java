/** User functions in jars, written for ksqlDB: finding them, and calling them from Spark. */
package org.ksqlspark.extension;
