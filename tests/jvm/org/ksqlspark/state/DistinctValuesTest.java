package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;

import scala.Option;
import scala.collection.immutable.Seq;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;

/** DISTINCT of an aggregate that collects what it takes, against sets and numbers of rows. */
class DistinctValuesTest {
    private static final Attribute VALUE = column("__arg_0_0", DataTypes.IntegerType);
    private static final Attribute TAKES = column("__distinct_0_0", DataTypes.BooleanType);
    private static final Attribute SIGN = column("__SIGN", DataTypes.IntegerType);

    private final TaskStates states = new TaskStates();

    private static Attribute column(String name, DataType type) {
        return new AttributeReference(
                name,
                type,
                true,
                Metadata.empty(),
                NamedExpression$.MODULE$.newExprId(),
                seq(List.<String>of()));
    }

    private static <T> Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }

    private static Aggregator collecting(List<Attribute> input) {
        Alias call =
                new Alias(
                        new CollectList(VALUE).toAggregateExpression(),
                        "c",
                        NamedExpression$.MODULE$.newExprId(),
                        seq(List.<String>of()),
                        Option.empty(),
                        seq(List.<String>of()));
        return Aggregator.of(
                new Aggregate(
                        seq(List.of()),
                        seq(List.of(call)),
                        LocalRelation$.MODULE$.apply(seq(input)),
                        Option.empty()),
                false,
                0);
    }

    private KeyedOperator start(List<Attribute> input, Windows windows, long ttl) {
        return states.start(new WindowAggregate(collecting(input), windows, ttl, 0, false, false));
    }

    private static byte[] record(int value, boolean takes, int... sign) {
        UnsafeRowWriter record = new UnsafeRowWriter(2 + sign.length);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, value);
        record.write(1, takes);
        for (int one : sign) {
            record.write(2, one);
        }
        return record.getRow().getBytes();
    }

    private static List<Integer> collected(byte[] result) {
        List<Integer> values = new ArrayList<>();
        for (int value : PackedRow.view(result, 1).getArray(0).toIntArray()) {
            values.add(value);
        }
        return values;
    }

    @Test
    void aValueIsTakenOnceThatPassesItsCondition() {
        KeyedOperator operator = start(List.of(VALUE, TAKES), null, 0);
        Random random = new Random(7);
        Map<Byte, List<Integer>> wanted = new HashMap<>();
        for (int i = 0; i < 500; i++) {
            byte key = (byte) random.nextInt(3);
            int value = random.nextInt(40);
            boolean takes = random.nextBoolean();
            List<Integer> there = wanted.computeIfAbsent(key, k -> new ArrayList<>());
            if (takes && !there.contains(value)) {
                there.add(value);
            }
            byte[] result =
                    TaskStates.process(operator, new byte[] {key}, 0, i, record(value, takes))
                            .get(0)
                            .getAs(2);
            assertEquals(there, collected(result));
        }
    }

    @Test
    void ofRowsThatAreRetractedTheFirstAndTheLastCount() {
        List<Integer> passed = new ArrayList<>();
        KeyedOperator operator =
                new KeyedOperator() {
                    private transient DistinctValues distinct;

                    @Override
                    protected void open() {
                        distinct =
                                DistinctValues.of(
                                        collecting(List.of(VALUE, TAKES, SIGN)).columns(),
                                        this,
                                        false);
                    }

                    @Override
                    protected void process(byte[] key, int side, long ts, byte[] value) {
                        UnsafeRow taken = PackedRow.view(distinct.taken(key, value), 3);
                        if (taken.getBoolean(1)) {
                            passed.add(taken.getInt(0) * taken.getInt(2));
                        }
                    }
                };
        states.start(operator);
        for (int value : new int[] {5, 5, 6, -5, -5, 5, -6, -7}) {
            int sign = Integer.signum(value);
            TaskStates.process(operator, new byte[] {1}, 0, 0, record(Math.abs(value), true, sign));
        }
        assertEquals(List.of(5, 6, -5, 5, -6), passed);
        assertEquals(1, states.size("distinct"));
    }

    @Test
    void theValuesOfAWindowGoWithIt() {
        KeyedOperator operator =
                start(List.of(VALUE, TAKES), Windows.of("TUMBLING", 10, 10, "", ""), 0);
        TreeSet<Integer> values = new TreeSet<>();
        for (int i = 0; i < 100; i++) {
            values.add(i * i % 17);
            TaskStates.process(operator, new byte[] {1}, 0, i / 10, record(i * i % 17, true));
        }
        assertEquals(values.size() + 1, states.size("distinct"));
        assertEquals(values.size(), states.size("distinct members"));
        TaskStates.process(operator, new byte[] {2}, 0, 1000, record(1, false));
        assertEquals(0, states.size("distinct") + states.size("distinct members"));
    }

    @Test
    void aGroupThatHasExpiredBeginsWithoutValues() {
        KeyedOperator operator = start(List.of(VALUE, TAKES), null, 10);
        for (long time : new long[] {1, 2, 100}) {
            byte[] result =
                    TaskStates.process(operator, new byte[] {1}, 0, time, record(8, true))
                            .get(0)
                            .getAs(2);
            assertEquals(List.of(8), collected(result));
        }
    }
}
