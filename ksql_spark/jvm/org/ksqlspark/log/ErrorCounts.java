package org.ksqlspark.log;

import java.io.Serializable;

/**
 * Errors of a query's records.
 *
 * @param unreadable records that could not be read
 * @param failed records that failed otherwise
 * @param late records that came too late
 * @param lastMs time of the last one of the first two, ms of the epoch; 0: none
 */
public record ErrorCounts(long unreadable, long failed, long late, long lastMs)
        implements Serializable {}
