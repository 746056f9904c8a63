package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * UNION, EXCEPT and INTERSECT of tables (reference §6.18).
 *
 * <p>Equal rows have equal keys, so the rows of a key in all tables say which rows of the result
 * have that key. The state has the current row of each key in each table; it depends on the last
 * record of a key alone, so records that are repeated after a crash do no harm.
 */
final class SetOperation extends KeyedOperator {
    private final String[] operation;
    private transient List<MapState<byte[], byte[]>> tables;

    SetOperation(List<String> operation) {
        this.operation = operation.toArray(new String[0]);
    }

    @Override
    protected void open() {
        tables = new ArrayList<>();
        for (String token : operation) {
            if (isTable(token)) {
                tables.add(bytes("table" + token));
            }
        }
    }

    private static boolean isTable(String token) {
        return Character.isDigit(token.charAt(0));
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        int own = side < HEARTBEAT ? side : side - 2;
        List<ByteBuffer> rows = new ArrayList<>();
        for (MapState<byte[], byte[]> table : tables) {
            byte[] row = table.getValue(key);
            rows.add(row == null ? null : ByteBuffer.wrap(row));
        }
        Set<ByteBuffer> before = result(rows);
        if (value == null) {
            tables.get(own).removeKey(key);
            rows.set(own, null);
        } else {
            tables.get(own).updateValue(key, value);
            rows.set(own, ByteBuffer.wrap(value));
        }
        Set<ByteBuffer> after = result(rows);
        for (ByteBuffer row : before) {
            if (!after.contains(row)) {
                change(row.array(), ts, row.array(), null);
            }
        }
        for (ByteBuffer row : after) {
            if (!before.contains(row)) {
                change(row.array(), ts, null, row.array());
            }
        }
    }

    private void change(byte[] key, long ts, byte[] before, byte[] after) {
        if (emitsChanges()) {
            replace(key, ts, Version.of(before), Version.of(after));
        } else {
            emit(key, ts, after, null);
        }
    }

    /** The rows of the result that have the key of these rows; null: a table has none. */
    private Set<ByteBuffer> result(List<ByteBuffer> rows) {
        Set<ByteBuffer> found = new LinkedHashSet<>();
        for (ByteBuffer row : rows) {
            if (row != null && has(row, rows)) {
                found.add(row);
            }
        }
        return found;
    }

    private boolean has(ByteBuffer row, List<ByteBuffer> rows) {
        Deque<Boolean> stack = new ArrayDeque<>();
        for (String token : operation) {
            if (isTable(token)) {
                stack.push(row.equals(rows.get(Integer.parseInt(token))));
                continue;
            }
            boolean right = stack.pop();
            boolean left = stack.pop();
            stack.push(
                    switch (token) {
                        case "UNION" -> left || right;
                        case "EXCEPT" -> left && !right;
                        case "INTERSECT" -> left && right;
                        default -> throw new IllegalArgumentException(token);
                    });
        }
        return stack.pop();
    }
}
