package com.example;

import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;
import java.nio.ByteBuffer;
import java.sql.Date;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/** Values of all types. */
@UdfDescription(name = "turned", description = "The opposite of a value.")
public class Shapes {
  private static final Schema POINT =
      SchemaBuilder.struct()
          .optional()
          .field("X", Schema.OPTIONAL_FLOAT64_SCHEMA)
          .field("Y", Schema.OPTIONAL_FLOAT64_SCHEMA)
          .build();

  @Udf(schema = "STRUCT<X DOUBLE, Y DOUBLE>")
  public Struct turned(
      @UdfParameter(value = "point", schema = "STRUCT<X DOUBLE, Y DOUBLE>") Struct point) {
    return point == null
        ? null
        : new Struct(POINT).put("X", point.get("Y")).put("Y", point.get("X"));
  }

  @Udf
  public <T> List<T> turned(List<T> list) {
    final List<T> copy = new ArrayList<>(list);
    Collections.reverse(copy);
    return copy;
  }

  @Udf
  public Map<Long, String> turned(Map<String, Long> map) {
    final Map<Long, String> copy = new HashMap<>();
    map.forEach((key, value) -> copy.put(value, key));
    return copy;
  }

  @Udf
  public Date turned(Date date) {
    return new Date(-date.getTime());
  }

  @Udf
  public Time turned(Time time) {
    return new Time(86_400_000L - time.getTime());
  }

  @Udf
  public Timestamp turned(Timestamp instant) {
    return new Timestamp(-instant.getTime());
  }

  @Udf
  public ByteBuffer turned(ByteBuffer bytes) {
    final ByteBuffer copy = ByteBuffer.allocate(bytes.remaining());
    for (int i = bytes.limit() - 1; i >= bytes.position(); i--) {
      copy.put(bytes.get(i));
    }
    copy.flip();
    return copy;
  }

  @Udf
  public Boolean turned(Boolean value) {
    return !value;
  }

  @Udf
  public String turned(String text) {
    return new StringBuilder(text).reverse().toString();
  }
}
