/** How much heap the JVM uses, and giving back what it does not need. */
package org.ksqlspark.memory;
