package org.ksqlspark.state;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.StructType;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * The latest row of each key of a table whose changes may leave out columns that they do not
 * change: these columns keep their values (reference §5.9).
 */
final class FormerRows implements Serializable {
    private static final long serialVersionUID = 1;

    /**
     * Setting of the query's session, a JSON object: the sides of its operator that are such
     * tables, each with its columns as Spark's DDL. The last column has the numbers of the columns
     * that a row leaves out; NULL: none.
     */
    static final String SETTING = "spark.ksql.formerRows";

    private final StructType type;
    private transient MapState<byte[], byte[]> rows;
    private transient PackedRow.Pack pack;

    FormerRows(StructType type) {
        this.type = type;
    }

    /** Those of an operator's sides, as the setting says. */
    static Map<Integer, FormerRows> of(String setting) {
        Map<Integer, FormerRows> found = new HashMap<>();
        try {
            new ObjectMapper()
                    .readTree(setting)
                    .properties()
                    .forEach(
                            side ->
                                    found.put(
                                            Integer.valueOf(side.getKey()),
                                            new FormerRows(
                                                    StructType.fromDDL(side.getValue().asText()))));
        } catch (JsonProcessingException bad) {
            throw new IllegalArgumentException(bad);
        }
        return found;
    }

    void open(MapState<byte[], byte[]> state) {
        rows = state;
        pack = new PackedRow.Pack(type);
    }

    /** A row with what it leaves out as the former one had it; null: it is deleted. */
    byte[] completed(byte[] key, byte[] value) {
        if (value == null) {
            rows.removeKey(key);
            return null;
        }
        UnsafeRow change = PackedRow.view(value, type.size());
        byte[] whole =
                change.isNullAt(type.size() - 1) ? value : merged(change, rows.getValue(key));
        rows.updateValue(key, whole);
        return whole;
    }

    private byte[] merged(UnsafeRow change, byte[] known) {
        int last = type.size() - 1;
        Object[] values = new Object[type.size()];
        for (int i = 0; i < last; i++) {
            values[i] = value(change, i);
        }
        UnsafeRow former = known == null ? null : PackedRow.view(known, type.size());
        for (int i : change.getArray(last).toIntArray()) {
            values[i] = former == null ? null : value(former, i);
        }
        return pack.invoke(new GenericInternalRow(values));
    }

    private Object value(UnsafeRow row, int i) {
        return row.isNullAt(i) ? null : row.get(i, type.fields()[i].dataType());
    }

    /** A table whose rows are completed, and otherwise left as they are. */
    static final class Table extends KeyedOperator {
        @Override
        protected void open() {}

        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            emit(key, ts, value, null);
        }
    }
}
