/** The schema registry as running tasks see it: schemas by id, asked once and kept. */
package org.ksqlspark.registry;
