package com.example;

import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;

@UdfDescription(name = "picky", description = "Half of an even number.")
public class Picky {
  @Udf
  public int picky(@UdfParameter("number") int number) {
    if (number % 2 != 0) {
      throw new IllegalArgumentException(number + " is odd");
    }
    return number / 2;
  }
}
