package com.example;

import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;
import io.confluent.ksql.function.udf.UdfSchemaProvider;
import io.confluent.ksql.schema.ksql.SqlArgument;
import io.confluent.ksql.schema.ksql.types.SqlDecimal;
import io.confluent.ksql.schema.ksql.types.SqlType;
import io.confluent.ksql.schema.ksql.types.SqlTypes;
import java.math.BigDecimal;
import java.util.List;

@UdfDescription(
    name = "multiply",
    description = "Multiplies two numbers.",
    author = "ada",
    version = "1.0.2",
    category = "MATHEMATICAL")
public class Multiply {
  @Udf(description = "Whole numbers.")
  public long multiply(
      @UdfParameter(value = "V1", description = "the first") final int v1,
      @UdfParameter("V2") final int v2) {
    return v1 * v2;
  }

  @Udf(description = "Large whole numbers.")
  public Long multiply(@UdfParameter("V1") final Long v1, @UdfParameter("V2") final Long v2) {
    return v1 == null || v2 == null ? null : v1 * v2;
  }

  @Udf(description = "Numbers.")
  public double multiply(@UdfParameter("V1") double v1, @UdfParameter("V2") double v2) {
    return v1 * v2;
  }

  @Udf(description = "Exact numbers.", schemaProvider = "digits")
  public BigDecimal multiply(
      @UdfParameter("V1") BigDecimal v1, @UdfParameter("V2") BigDecimal v2) {
    return v1.multiply(v2);
  }

  @UdfSchemaProvider
  public SqlType digits(final List<SqlArgument> arguments) {
    final SqlDecimal one = (SqlDecimal) arguments.get(0).getSqlTypeOrThrow();
    final SqlDecimal other = (SqlDecimal) arguments.get(1).getSqlTypeOrThrow();
    return SqlTypes.decimal(
        one.getPrecision() + other.getPrecision(), one.getScale() + other.getScale());
  }
}
