package com.example;

import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import java.math.BigDecimal;
import java.util.function.Function;

/** Methods that cannot be used, beside one that can. */
@UdfDescription(name = "not_all", description = "Some of it.")
public class NotAll {
  @Udf
  public int good(int number) {
    return number;
  }

  @Udf
  public BigDecimal withoutDigits(String text) {
    return new BigDecimal(text);
  }

  @Udf
  public int ofLambda(Function<Integer, Integer> function) {
    return function.apply(1);
  }
}
