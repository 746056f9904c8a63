/** What lets Spark need less memory: settings and threads that it keeps and no query needs. */
package org.ksqlspark.memory;
