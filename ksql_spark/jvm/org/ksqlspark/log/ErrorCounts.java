package org.ksqlspark.log;

import java.io.Serializable;
import java.util.Map;

/**
 * Errors of a query's records.
 *
 * @param unreadable records that could not be read
 * @param failed records that failed otherwise
 * @param late records that came too late
 * @param lost records that were gone before they were read
 * @param lastMs time of the last one of all but the late ones, ms of the epoch; 0: none
 * @param graces of the late records, see Graces
 */
public record ErrorCounts(
        long unreadable, long failed, long late, long lost, long lastMs, Map<Integer, Long> graces)
        implements Serializable {
    /** Whether there are any. */
    boolean any() {
        return unreadable + failed + late + lost > 0;
    }
}
