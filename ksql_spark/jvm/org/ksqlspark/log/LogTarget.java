package org.ksqlspark.log;

import java.io.Serializable;
import java.util.Map;
import java.util.Set;

/**
 * Where the entries of a processing log go.
 *
 * @param topic the topic
 * @param producer settings of the Kafka client
 * @param muted queries whose errors are only counted
 * @param lateRows the most late rows of a query and step that are written in a second
 */
public record LogTarget(String topic, Map<String, String> producer, Set<String> muted, int lateRows)
        implements Serializable {}
