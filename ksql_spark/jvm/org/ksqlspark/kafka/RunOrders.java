package org.ksqlspark.kafka;

import java.io.Serializable;
import java.util.Map;

/**
 * What the tasks of an executor have to know of runs.
 *
 * @param runs all runs of the driver, by name
 * @param reached by internal topic, how far its writers have got
 */
public record RunOrders(Map<String, Order> runs, Map<String, Frontier.Reached> reached)
        implements Serializable {
    /**
     * Of one run.
     *
     * @param batch the latest batch whose partitions were planned
     * @param isEnding whether it ends
     * @param isDraining whether nothing is read any more
     */
    public record Order(long batch, boolean isEnding, boolean isDraining) implements Serializable {}
}
