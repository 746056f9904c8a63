/** Which settings Spark has, and which values it accepts. */
package org.ksqlspark.internals.settings;
