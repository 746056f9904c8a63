package org.ksqlspark;

import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The few functions that Catalyst lacks, reachable from Spark SQL text as {@code ksql.`name`(...)}.
 *
 * A function that needs a schema carries it in its name after a colon, as Spark DDL:
 * {@code ksql.`decode_json:A INT, B STRING`(value)}.
 */
public final class KsqlCatalog implements FunctionCatalog {
    private String name;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) {
        String full = identifier.name();
        int colon = full.indexOf(':');
        String function = colon < 0 ? full : full.substring(0, colon);
        String argument = colon < 0 ? "" : full.substring(colon + 1);
        BoundFunction bound;
        switch (function) {
            case "decode_json":
                bound = new JsonDecoder(argument);
                break;
            case "kafka_int_decode":
                bound = new KafkaCodec.DecodeInt();
                break;
            case "kafka_bigint_decode":
                bound = new KafkaCodec.DecodeLong();
                break;
            case "kafka_double_decode":
                bound = new KafkaCodec.DecodeDouble();
                break;
            case "kafka_double_encode":
                bound = new KafkaCodec.EncodeDouble();
                break;
            case "kafka_partition":
                bound = new KafkaCodec.Partition();
                break;
            default:
                throw new IllegalArgumentException("no function " + full + " in catalog " + name);
        }
        return new Unbound(full, bound);
    }

    /** A function with one signature: binding checks nothing, since the plan is typed already. */
    private static final class Unbound implements UnboundFunction {
        private final String name;
        private final BoundFunction bound;

        Unbound(String name, BoundFunction bound) {
            this.name = name;
            this.bound = bound;
        }

        @Override
        public BoundFunction bind(StructType inputType) {
            return bound;
        }

        @Override
        public String description() {
            return name;
        }

        @Override
        public String name() {
            return name;
        }
    }
}
