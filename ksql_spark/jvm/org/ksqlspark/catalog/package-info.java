/** The Spark function catalog that gives SQL text access to the functions of all other packages. */
package org.ksqlspark.catalog;
