package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** Set operations of three tables, against those of sets. */
class SetOperationTest {
    private static final List<String> OPERATION = List.of("0", "1", "2", "INTERSECT", "EXCEPT");

    private static String row(byte[] key, int value) {
        return key[0] + " " + value;
    }

    @Test
    void theResultIsThatOfTheCurrentRows() {
        for (int seed = 0; seed < 100; seed++) {
            Random random = new Random(seed);
            TaskStates states = new TaskStates();
            KeyedOperator operator = states.start(new SetOperation(OPERATION));
            List<Map<Byte, Integer>> tables =
                    List.of(new HashMap<>(), new HashMap<>(), new HashMap<>());
            Set<String> result = new HashSet<>();
            for (int i = 0; i < 300; i++) {
                byte[] key = {(byte) random.nextInt(4)};
                int table = random.nextInt(3);
                Integer value = random.nextInt(3) == 0 ? null : (Integer) random.nextInt(3);
                if (value == null) {
                    tables.get(table).remove(key[0]);
                } else {
                    tables.get(table).put(key[0], value);
                }
                byte[] bytes = value == null ? null : new byte[] {key[0], value.byteValue()};
                int side = table == 2 ? 4 : table;
                for (Row change : TaskStates.process(operator, key, side, i, bytes)) {
                    byte[] found = change.getAs(0);
                    String shown = row(found, found[1]);
                    assertEquals(
                            true, change.isNullAt(2) ? result.remove(shown) : result.add(shown));
                }
                Set<String> wanted = rows(tables.get(1));
                wanted.retainAll(rows(tables.get(2)));
                Set<String> left = rows(tables.get(0));
                left.removeAll(wanted);
                assertEquals(left, result, "seed " + seed + " record " + i);
                if (random.nextInt(20) == 0) {
                    operator = states.start(new SetOperation(OPERATION)); // as after a restart
                }
            }
            for (int table = 0; table < 3; table++) {
                assertEquals(tables.get(table).size(), states.size("table" + table));
            }
        }
    }

    private static Set<String> rows(Map<Byte, Integer> table) {
        Set<String> rows = new HashSet<>();
        table.forEach((key, value) -> rows.add(row(new byte[] {key}, value)));
        return rows;
    }
}
