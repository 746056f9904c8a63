package org.ksqlspark.log;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** An entry of the processing log as JSON (reference §5.8). */
final class LogEntry {
    private static final JsonFactory JSON = new JsonFactory();

    private LogEntry() {}

    /** What an entry is about: each has a number and a member of "message", which is null else. */
    enum Type {
        DESERIALIZATION("deserializationError"),
        PROCESSING("recordProcessingError"),
        PRODUCTION("productionError"),
        SERIALIZATION("serializationError"),
        THREAD("kafkaStreamsThreadError");

        private final String member;

        Type(String member) {
            this.member = member;
        }
    }

    /** Writes the members of an entry's error. */
    interface Body {
        void write(JsonGenerator json) throws IOException;
    }

    /**
     * The record of a topic that an entry is about.
     *
     * @param topic its topic
     * @param partition of the topic
     * @param offset in the partition
     */
    record Input(String topic, int partition, long offset) {}

    static String of(String logger, String level, Type type, Body body) {
        return of(logger, level, type, body, null);
    }

    /**
     * An entry; {@code input}: the record that the failed row comes from, null where it is not
     * known.
     */
    static String of(String logger, String level, Type type, Body body, Input input) {
        return entry(logger, level, json -> message(json, type, body), input, null);
    }

    private static void message(JsonGenerator json, Type type, Body body) throws IOException {
        json.writeObjectFieldStart("message");
        json.writeNumberField("type", type.ordinal());
        for (Type one : Type.values()) {
            if (one == type) {
                json.writeObjectFieldStart(one.member);
                body.write(json);
                json.writeEndObject();
            } else {
                json.writeNullField(one.member);
            }
        }
        json.writeEndObject();
    }

    /** An entry about a late row, which is no error. */
    static String late(String logger, LateRow row) {
        return entry(logger, "INFO", LogEntry::nothing, row.input(), row::write);
    }

    /** How many entries about late rows were dropped. */
    static String lateLeftOut(String logger, long count) {
        Body omitted = json -> json.writeNumberField("omitted", count);
        return entry(logger, "INFO", LogEntry::nothing, null, omitted);
    }

    private static void nothing(JsonGenerator json) throws IOException {
        json.writeNullField("message");
    }

    private static String entry(String logger, String level, Body message, Input input, Body late) {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("level", level);
            json.writeStringField("logger", logger);
            json.writeNumberField("time", System.currentTimeMillis());
            message.write(json);
            if (input != null) {
                json.writeObjectFieldStart("input");
                json.writeStringField("topic", input.topic());
                json.writeNumberField("partition", input.partition());
                json.writeNumberField("offset", input.offset());
                json.writeEndObject();
            }
            if (late != null) {
                json.writeObjectFieldStart("late");
                late.write(json);
                json.writeEndObject();
            }
            json.writeEndObject();
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        return out.toString();
    }

    /** How many entries of a logger were dropped. */
    static String leftOut(String logger, long count) {
        return of(
                logger,
                "WARN",
                Type.PROCESSING,
                json -> {
                    json.writeStringField(
                            "errorMessage", count + " more entries of this logger were left out.");
                    json.writeNullField("record");
                    causes(json, null);
                });
    }

    /** The member "cause": a list of one text, or of none. */
    static void causes(JsonGenerator json, String cause) throws IOException {
        json.writeArrayFieldStart("cause");
        if (cause != null) {
            json.writeString(cause);
        }
        json.writeEndArray();
    }
}
