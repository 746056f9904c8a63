package org.ksqlspark.log;

import java.io.Serializable;

/**
 * Errors of a query's records.
 *
 * @param unreadable records that could not be read
 * @param failed records that failed otherwise
 * @param late records that came too late
 * @param lost records that were gone before they were read
 * @param lastMs time of the last one of all but the late ones, ms of the epoch; 0: none
 */
public record ErrorCounts(long unreadable, long failed, long late, long lost, long lastMs)
        implements Serializable {
    /** Whether there are any. */
    boolean any() {
        return unreadable + failed + late + lost > 0;
    }
}
