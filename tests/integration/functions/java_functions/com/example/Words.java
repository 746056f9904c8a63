package com.example;

import io.confluent.ksql.function.udf.UdfParameter;
import io.confluent.ksql.function.udtf.Udtf;
import io.confluent.ksql.function.udtf.UdtfDescription;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

@UdtfDescription(name = "words", description = "One row for each word.", author = "ada")
public class Words {
  @Udtf
  public List<String> words(@UdfParameter("text") String text) {
    return Arrays.asList(text.split(" "));
  }

  @Udtf(description = "The numbers up to one.")
  public List<Integer> words(@UdfParameter("to") int to) {
    if (to > 3) {
      throw new IllegalArgumentException(to + " is too large");
    }
    final List<Integer> numbers = new ArrayList<>();
    for (int i = 1; i <= to; i++) {
      numbers.add(i);
    }
    return numbers;
  }
}
