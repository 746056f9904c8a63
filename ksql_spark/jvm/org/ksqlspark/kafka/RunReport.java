package org.ksqlspark.kafka;

import java.io.Serializable;
import java.util.Map;

/**
 * How the tasks of an executor read.
 *
 * @param records by run, how many they have read since the report before
 * @param progress by internal topic that they write, how far they have got
 */
public record RunReport(Map<String, Long> records, Map<String, TaskTimes> progress)
        implements Serializable {
    /**
     * How far tasks have got with an internal topic.
     *
     * @param tasks how many write it
     * @param times by task, the time, ms, before which everything is in the topic; see {@link
     *     Frontier}
     * @param offsets by partition, the greatest offset of these records
     */
    public record TaskTimes(int tasks, Map<Integer, Long> times, Map<Integer, Long> offsets)
            implements Serializable {}
}
