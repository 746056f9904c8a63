package org.ksqlspark.log;

import com.fasterxml.jackson.core.JsonGenerator;

import java.io.IOException;

/**
 * A record that came too late to be used.
 *
 * @param topic the topic that it comes from; null: that is not known
 * @param partition of the topic
 * @param offset in the partition
 * @param key its key as JSON; null: it is not shown
 * @param value its columns as JSON; null: they are not shown
 * @param time its event time, ms
 * @param found what was found about it
 */
public record LateRow(
        String topic,
        int partition,
        long offset,
        String key,
        String value,
        long time,
        Lateness found) {
    /**
     * Why a record is late.
     *
     * @param streamTime the time that has left it behind, ms
     * @param grace the least grace period with which it would not have been late, ms; null: no
     *     grace period would have helped
     * @param start of the latest window that it is too late for, ms; null: there is none
     * @param end of that window
     */
    public record Lateness(long streamTime, Long grace, Long start, Long end) {}

    LogEntry.Input input() {
        return topic == null ? null : new LogEntry.Input(topic, partition, offset);
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStringField("key", key);
        json.writeStringField("value", value);
        json.writeNumberField("eventTime", time);
        json.writeNumberField("streamTime", found.streamTime());
        write(json, "windowStart", found.start());
        write(json, "windowEnd", found.end());
        write(json, "grace", found.grace());
    }

    private static void write(JsonGenerator json, String name, Long value) throws IOException {
        if (value == null) {
            json.writeNullField(name);
        } else {
            json.writeNumberField(name, value);
        }
    }
}
