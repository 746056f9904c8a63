/**
 * Whether a query is still this server's to run: with several servers, another one may have it
 * after a while. Who writes asks here before.
 */
package org.ksqlspark.ownership;
