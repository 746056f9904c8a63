/**
 * What Spark's stateful queries and checkpoints lack: a call before a commit, and files in an
 * object store.
 */
package org.ksqlspark.internals.state;
