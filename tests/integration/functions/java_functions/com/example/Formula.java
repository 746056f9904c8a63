package com.example;

import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;
import java.util.Map;
import org.apache.kafka.common.Configurable;

@UdfDescription(name = "formula", description = "A value plus a configured one, and others.")
public class Formula implements Configurable {
  private long base = -1;

  @Override
  public void configure(final Map<String, ?> properties) {
    base = Long.parseLong(properties.get("ksql.functions.formula.base.value").toString());
    base += Long.parseLong(properties.get("ksql.functions._global_.offset").toString());
  }

  @Udf(description = "Adds them all.")
  public long formula(@UdfParameter("value") long value, @UdfParameter("more") Long... more) {
    long sum = base + value;
    for (final Long other : more) {
      sum += other == null ? 0 : other;
    }
    return sum;
  }
}
