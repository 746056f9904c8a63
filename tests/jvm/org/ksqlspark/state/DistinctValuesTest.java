package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;

/** DISTINCT of an aggregate that collects what it takes, against sets and numbers of rows. */
class DistinctValuesTest {
    private static final Attribute VALUE = Aggregates.column("__arg_0_0", DataTypes.IntegerType);
    private static final Attribute TAKES =
            Aggregates.column("__distinct_0_0", DataTypes.BooleanType);
    private static final Attribute SIGN = Aggregates.column("__SIGN", DataTypes.IntegerType);

    private final TaskStates states = new TaskStates();

    private KeyedOperator start(List<Attribute> input, Windows windows, long ttl) {
        return states.start(
                new WindowAggregate(
                        Aggregates.of(new CollectList(VALUE), input.toArray(new Attribute[0])),
                        windows,
                        ttl,
                        0,
                        false,
                        false));
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
                                        Aggregates.of(new CollectList(VALUE), VALUE, TAKES, SIGN)
                                                .columns(),
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
