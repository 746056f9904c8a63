package org.ksqlspark.formats;

import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.ksqlspark.registry.RegistryClient;

import java.util.Map;

/** What a schema of Avro says beyond Avro's own types, as Connect and Debezium write it. */
final class AvroSchema {
    /** What longs count, as parts of a millisecond; others that are times count milliseconds. */
    private static final Map<String, Long> TIMESTAMPS =
            Map.of(
                    "timestamp-micros", 1_000L,
                    "timestamp-nanos", 1_000_000L,
                    "local-timestamp-micros", 1_000L,
                    "local-timestamp-nanos", 1_000_000L,
                    "io.debezium.time.MicroTimestamp", 1_000L,
                    "io.debezium.time.NanoTimestamp", 1_000_000L);

    private static final Map<String, Long> TIMES =
            Map.of(
                    "time-micros", 1_000L,
                    "io.debezium.time.MicroTime", 1_000L,
                    "io.debezium.time.NanoTime", 1_000_000L);

    private AvroSchema() {}

    /** Registries have accepted names and defaults that Avro does not. */
    static Schema parse(RegistryClient.Registered schema) {
        Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
        parser.setValidateDefaults(false);
        schema.references().forEach(parser::parse);
        return parser.parse(schema.text());
    }

    /** How many units of a long that is a TIMESTAMP are a millisecond. */
    static long timestampUnits(Schema schema) {
        return units(schema, TIMESTAMPS, 1);
    }

    /** How many units of a long that is a TIME are a millisecond; other: it is none. */
    static long timeUnits(Schema schema, long other) {
        return units(schema, TIMES, other);
    }

    private static long units(Schema schema, Map<String, Long> units, long other) {
        String name = String.valueOf(schema.getObjectProp("connect.name"));
        return units.getOrDefault(
                String.valueOf(schema.getProp("logicalType")), units.getOrDefault(name, other));
    }

    static boolean isDecimal(Schema schema) {
        return "decimal".equals(schema.getProp("logicalType"))
                || "org.apache.kafka.connect.data.Decimal".equals(schema.getProp("connect.name"));
    }

    /** The scale of a decimal. */
    static int scale(Schema schema) {
        Object given = schema.getObjectProp("scale");
        return given == null ? 0 : Integer.parseInt(given.toString());
    }

    /** How Connect writes maps whose keys are not plain strings: an array of key and value. */
    static boolean isEntry(Schema schema) {
        return schema.getType() == Schema.Type.RECORD
                && schema.getFields().size() == 2
                && schema.getField("key") != null
                && schema.getField("value") != null
                && ("MapEntry".equals(schema.getProp("connect.internal.type"))
                        || schema.getName().equals("MapEntry"));
    }
}
