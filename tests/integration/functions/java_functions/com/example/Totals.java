package com.example;

import io.confluent.ksql.function.udaf.TableUdaf;
import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.function.udaf.UdafDescription;
import io.confluent.ksql.function.udaf.UdafFactory;
import io.confluent.ksql.schema.ksql.SqlArgument;
import io.confluent.ksql.schema.ksql.types.SqlType;
import io.confluent.ksql.util.Pair;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

@UdafDescription(name = "total", description = "A sum.")
public final class Totals {
  private Totals() {}

  @UdafFactory(description = "Of whole numbers.")
  public static TableUdaf<Long, Long, Long> ofLongs() {
    return new TableUdaf<Long, Long, Long>() {
      @Override
      public Long initialize() {
        return 0L;
      }

      @Override
      public Long aggregate(Long value, Long sum) {
        return sum + value;
      }

      @Override
      public Long undo(Long value, Long sum) {
        return sum - value;
      }

      @Override
      public Long merge(Long one, Long other) {
        return one + other;
      }

      @Override
      public Long map(Long sum) {
        return sum;
      }
    };
  }

  @UdafFactory(description = "Of decimals.")
  public static Udaf<BigDecimal, BigDecimal, BigDecimal> ofDecimals() {
    return new Udaf<BigDecimal, BigDecimal, BigDecimal>() {
      private SqlType type;

      @Override
      public void initializeTypeArguments(List<SqlArgument> types) {
        type = types.get(0).getSqlTypeOrThrow();
      }

      @Override
      public Optional<SqlType> getAggregateSqlType() {
        return Optional.of(type);
      }

      @Override
      public Optional<SqlType> getReturnSqlType() {
        return Optional.of(type);
      }

      @Override
      public BigDecimal initialize() {
        return BigDecimal.ZERO;
      }

      @Override
      public BigDecimal aggregate(BigDecimal value, BigDecimal sum) {
        return sum.add(value);
      }

      @Override
      public BigDecimal merge(BigDecimal one, BigDecimal other) {
        return one.add(other);
      }

      @Override
      public BigDecimal map(BigDecimal sum) {
        return sum;
      }
    };
  }

  /** The largest products of two columns, as many as the last argument says. */
  @UdafFactory(description = "Of the largest products.")
  public static Udaf<Pair<Long, Long>, List<Long>, Long> ofLargest(int count) {
    return new Udaf<Pair<Long, Long>, List<Long>, Long>() {
      @Override
      public List<Long> initialize() {
        return new ArrayList<>();
      }

      @Override
      public List<Long> aggregate(Pair<Long, Long> pair, List<Long> largest) {
        largest.add(pair.getLeft() * pair.getRight());
        largest.sort(Collections.reverseOrder());
        return largest.size() > count ? largest.subList(0, count) : largest;
      }

      @Override
      public List<Long> merge(List<Long> one, List<Long> other) {
        one.addAll(other);
        return one;
      }

      @Override
      public Long map(List<Long> largest) {
        return largest.stream().mapToLong(Long::longValue).sum();
      }
    };
  }
}
