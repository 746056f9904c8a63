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
 */
public record LogTarget(String topic, Map<String, String> producer, Set<String> muted)
        implements Serializable {}
