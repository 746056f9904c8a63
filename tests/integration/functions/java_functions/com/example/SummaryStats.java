package com.example;

import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.function.udaf.UdafDescription;
import io.confluent.ksql.function.udaf.UdafFactory;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

@UdafDescription(
    name = "summary_stats",
    description = "Count, sum and mean.",
    author = "ada",
    version = "2")
public final class SummaryStats {
  private static final Schema STATE =
      SchemaBuilder.struct()
          .optional()
          .field("SAMPLE_SIZE", Schema.OPTIONAL_INT64_SCHEMA)
          .field("SUM", Schema.OPTIONAL_FLOAT64_SCHEMA)
          .build();
  private static final Schema RESULT =
      SchemaBuilder.struct()
          .optional()
          .field("SAMPLE_SIZE", Schema.OPTIONAL_INT64_SCHEMA)
          .field("SUM", Schema.OPTIONAL_FLOAT64_SCHEMA)
          .field("MEAN", Schema.OPTIONAL_FLOAT64_SCHEMA)
          .build();

  private SummaryStats() {}

  @UdafFactory(
      description = "Of numbers.",
      aggregateSchema = "STRUCT<SAMPLE_SIZE bigint, SUM double>",
      returnSchema = "STRUCT<SAMPLE_SIZE bigint, SUM double, MEAN double>")
  public static Udaf<Double, Struct, Struct> ofNumbers() {
    return new Udaf<Double, Struct, Struct>() {
      @Override
      public Struct initialize() {
        return new Struct(STATE).put("SAMPLE_SIZE", 0L).put("SUM", 0.0);
      }

      @Override
      public Struct aggregate(Double value, Struct state) {
        if (value == null) {
          return state;
        }
        // a function that fails after it has changed its state
        state.put("SAMPLE_SIZE", state.getInt64("SAMPLE_SIZE") + 1);
        if (value < 0) {
          throw new IllegalArgumentException(value + " is negative");
        }
        return state.put("SUM", state.getFloat64("SUM") + value);
      }

      @Override
      public Struct merge(Struct one, Struct other) {
        return new Struct(STATE)
            .put("SAMPLE_SIZE", one.getInt64("SAMPLE_SIZE") + other.getInt64("SAMPLE_SIZE"))
            .put("SUM", one.getFloat64("SUM") + other.getFloat64("SUM"));
      }

      @Override
      public Struct map(Struct state) {
        final long count = state.getInt64("SAMPLE_SIZE");
        return new Struct(RESULT)
            .put("SAMPLE_SIZE", count)
            .put("SUM", state.getFloat64("SUM"))
            .put("MEAN", count == 0 ? null : state.getFloat64("SUM") / count);
      }
    };
  }
}
