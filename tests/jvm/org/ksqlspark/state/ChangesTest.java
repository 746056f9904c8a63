package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;

/** What operators say of how their rows change, against the rows that they emit otherwise. */
class ChangesTest {
    private static final Attribute VALUE = Aggregates.column("__arg_0_0", DataTypes.IntegerType);

    private static Aggregator aggregator() {
        return Aggregates.of(new Max(VALUE), VALUE);
    }

    private static byte[] value(int number) {
        UnsafeRowWriter record = new UnsafeRowWriter(1);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, number);
        return record.getRow().getBytes();
    }

    /** One record: key, side, time, and value or null. */
    private record Input(byte[] key, int side, long time, byte[] value) {}

    private static Input one(Random random, int sides, boolean isDeleting, int time) {
        byte[] key = {(byte) random.nextInt(3)};
        boolean isDeleted = isDeleting && random.nextInt(4) == 0;
        // equal rows have equal keys
        byte[] value = isDeleted ? null : value(10 * key[0] + random.nextInt(4));
        return new Input(key, random.nextInt(sides), time + random.nextInt(3), value);
    }

    private static String place(Row row) {
        return Arrays.toString(row.<byte[]>getAs(0)) + " " + row.get(4);
    }

    private static String row(Row row, int left) {
        String parts = "";
        for (int part : new int[] {left, left + 1}) {
            byte[] bytes = row.getAs(part);
            parts += bytes == null ? "null " : ByteBuffer.wrap(bytes) + Arrays.toString(bytes);
        }
        return parts;
    }

    /** Takes the changes of one record into a table. */
    private static void take(List<Row> changes, Map<String, String> table) {
        for (int i = 0; i < changes.size(); i++) {
            Row change = changes.get(i);
            int sign = change.getInt(9);
            if (sign == 1) {
                assertNull(table.put(place(change), row(change, 2)));
                continue;
            }
            assertEquals(row(change, 2), table.remove(place(change)));
            if (sign == -2) {
                assertEquals(row(change, 10), row(changes.get(i + 1), 2));
                assertEquals(place(change), place(changes.get(i + 1)));
            }
        }
    }

    private static void compare(
            Supplier<KeyedOperator> make, int sides, boolean isDeleting, int replaced) {
        for (int seed = 0; seed < 30; seed++) {
            Random random = new Random(seed);
            TaskStates own = new TaskStates();
            TaskStates others = new TaskStates();
            KeyedOperator told = own.start(changing(make));
            KeyedOperator plain = others.start(make.get());
            Map<String, String> table = new HashMap<>();
            Map<String, String> wanted = new HashMap<>();
            for (int i = 0; i < 200; i++) {
                Input in = one(random, sides, isDeleting, i);
                if (random.nextInt(3) < replaced) { // a row that another one follows
                    Input before = new Input(in.key, KeyedOperator.REPLACED, in.time, value(9));
                    take(process(told, before), table);
                    process(plain, before);
                }
                take(process(told, in), table);
                for (Row row : process(plain, in)) {
                    if (row.isNullAt(2) && row.isNullAt(3)) {
                        wanted.remove(place(row));
                    } else {
                        wanted.put(place(row), row(row, 2));
                    }
                }
                assertEquals(wanted, table, "seed " + seed + ", record " + i);
                if (random.nextInt(20) == 0) { // a new batch
                    told = own.start(changing(make));
                    plain = others.start(make.get());
                }
            }
        }
    }

    private static KeyedOperator changing(Supplier<KeyedOperator> make) {
        KeyedOperator operator = make.get();
        operator.emitChanges();
        return operator;
    }

    private static List<Row> process(KeyedOperator operator, Input in) {
        return TaskStates.process(operator, in.key, in.side, in.time, in.value);
    }

    @Test
    void anAggregate() {
        compare(() -> new WindowAggregate(aggregator(), null, 0, 0, false, false), 1, false, 0);
    }

    @Test
    void anAggregateOfChanges() {
        compare(() -> new WindowAggregate(aggregator(), null, 0, 0, false, false), 1, false, 1);
    }

    @Test
    void anAggregateWithATimeToLive() {
        compare(() -> new WindowAggregate(aggregator(), null, 2, 0, false, false), 1, false, 0);
    }

    @Test
    void windows() {
        Windows hopping = Windows.of("HOPPING", 10, 5, "", "");
        compare(() -> new WindowAggregate(aggregator(), hopping, 0, 3, false, false), 1, false, 0);
        compare(() -> new WindowAggregate(aggregator(), hopping, 0, 3, true, false), 1, false, 0);
        compare(() -> new SliceAggregate(aggregator(), 10, 5, 3, false), 1, false, 0);
    }

    @Test
    void aJoinOfTables() {
        for (boolean left : new boolean[] {false, true}) {
            for (boolean right : new boolean[] {false, true}) {
                compare(() -> new TableJoins.TableTable(left, right), 2, true, 0);
            }
        }
    }

    @Test
    void aSetOperation() {
        compare(() -> new SetOperation(List.of("0", "1", "EXCEPT")), 2, true, 0);
    }

    @Test
    void aResultThatStaysIsNotPassedOn() {
        KeyedOperator operator =
                new TaskStates()
                        .start(
                                changing(
                                        () ->
                                                new WindowAggregate(
                                                        aggregator(), null, 0, 0, false, false)));
        byte[] key = {1};
        assertEquals(1, TaskStates.process(operator, key, 0, 1, value(5)).size());
        assertEquals(0, TaskStates.process(operator, key, 0, 2, value(3)).size());
        assertEquals(2, TaskStates.process(operator, key, 0, 3, value(7)).size());
    }
}
