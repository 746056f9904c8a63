package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/** FORGET of each aggregate: nothing of the key stays, and other keys do not notice. */
class ForgetTest {
    private static final Attribute VALUE = Aggregates.column("__arg_0_0", DataTypes.IntegerType);
    private static final Attribute TAKES =
            Aggregates.column("__distinct_0_0", DataTypes.BooleanType);

    private static Aggregator aggregator() {
        return Aggregates.of(new CollectList(VALUE), VALUE, TAKES);
    }

    private static final Windows TUMBLING = Windows.of("TUMBLING", 10, 10, "", "");
    private static final Windows HOPPING = Windows.of("HOPPING", 10, 5, "", "");

    private static final List<Supplier<KeyedOperator>> OPERATORS =
            List.of(
                    () -> new WindowAggregate(aggregator(), null, 0, 0, false, false),
                    () -> new WindowAggregate(aggregator(), null, 40, 0, false, false),
                    () -> new WindowAggregate(aggregator(), TUMBLING, 0, 10, false, false),
                    () -> new WindowAggregate(aggregator(), HOPPING, 0, 10, true, false),
                    () -> new SliceAggregate(aggregator(), 10, 5, 10, false),
                    () ->
                            new SessionAggregate(
                                    Aggregates.of(new CollectList(VALUE), VALUE, TAKES),
                                    5,
                                    10,
                                    false),
                    () ->
                            new SessionAggregate(
                                    Aggregates.of(new CollectList(VALUE), VALUE, TAKES),
                                    5,
                                    10,
                                    true),
                    () -> new SlidingAggregate(aggregator(), 10, 10, false),
                    () -> new SlidingAggregate(aggregator(), 10, 10, true));

    private static byte[] key(int number) {
        return ("customer-" + number).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static List<String> process(KeyedOperator operator, int key, long time, int value) {
        UnsafeRowWriter record = new UnsafeRowWriter(2);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, value);
        record.write(1, true);
        byte[] row = record.getRow().getBytes();
        List<String> results = new ArrayList<>();
        for (Row result : TaskStates.process(operator, key(key), 0, time, row)) {
            String to = new String(result.<byte[]>getAs(0), StandardCharsets.ISO_8859_1);
            byte[] out = result.getAs(2);
            String values =
                    out == null
                            ? "none"
                            : Arrays.toString(PackedRow.view(out, 1).getArray(0).toIntArray());
            results.add(to + " " + result.get(1) + " " + result.get(4) + " " + values);
        }
        return results;
    }

    private static List<String> ofOthers(List<String> results) {
        return results.stream()
                .filter(result -> !result.startsWith("customer-0"))
                .sorted()
                .toList();
    }

    @Test
    void nothingOfTheKeyStaysAndOthersDoNotNotice() {
        for (int kind = 0; kind < OPERATORS.size(); kind++) {
            for (int seed = 0; seed < 3; seed++) {
                Random random = new Random(seed);
                TaskStates states = new TaskStates();
                KeyedOperator operator = states.start(OPERATORS.get(kind).get());
                KeyedOperator twin = new TaskStates().start(OPERATORS.get(kind).get());
                for (int i = 0; i < 400; i++) {
                    int key = random.nextInt(3);
                    long time = Math.max(0, i / 2 + random.nextInt(10) - random.nextInt(20));
                    int value = random.nextInt(20);
                    assertEquals(
                            ofOthers(process(twin, key, time, value)),
                            ofOthers(process(operator, key, time, value)));
                    if (random.nextInt(20) == 0) {
                        TaskStates.forget(operator, key(0));
                        assertFalse(states.contain("customer-0"), "operator " + kind);
                    }
                }
                TaskStates.forget(operator, key(0));
                process(operator, 1, 10_000, 0);
                process(operator, 1, 20_000, 0);
                assertFalse(states.contain("customer-0"), "operator " + kind);
            }
        }
    }

    @Test
    void aKeyThatComesBackBeginsAnew() {
        TaskStates states = new TaskStates();
        KeyedOperator operator = states.start(OPERATORS.get(0).get());
        process(operator, 0, 1, 7);
        assertTrue(states.contain("customer-0"));
        TaskStates.forget(operator, key(0));
        assertEquals(List.of("customer-0 3 null [7]"), process(operator, 0, 3, 7));
    }

    @Test
    void resultsThatAreHeldAreForgotten() {
        TaskStates states = new TaskStates();
        KeyedOperator operator = OPERATORS.get(0).get();
        operator.setInterval(3_600_000);
        states.start(operator);
        process(operator, 0, 1, 7);
        process(operator, 1, 1, 7);
        TaskStates.forget(operator, key(0));
        assertEquals(1, states.size("held"));
    }
}
