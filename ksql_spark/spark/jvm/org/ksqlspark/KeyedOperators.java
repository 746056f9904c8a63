package org.ksqlspark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Operators that need exact state per key, one record at a time: joins so far. They know positions, not columns:
 * rows come in as (k BINARY, side INT, ts BIGINT, l STRUCT, r STRUCT) and leave as (k, ts, l, r).
 */
public final class KeyedOperators {
    private static final int KEY = 0;
    private static final int SIDE = 1;
    private static final int TS = 2;
    private static final int LEFT = 3;
    private static final int RIGHT = 4;

    private KeyedOperators() {}

    /** Stream record with the table's row as it is now; the table's records only change state. */
    public static Dataset<Row> streamTableJoin(Dataset<Row> input, boolean outer) {
        return apply(input, new StreamTableJoin(side(input, RIGHT), outer));
    }

    /** Pairs of records of both streams whose times are within [-before, +after] of the left one's, ms. */
    public static Dataset<Row> streamStreamJoin(Dataset<Row> input, long before, long after, long grace) {
        return apply(input, new StreamStreamJoin(side(input, LEFT), side(input, RIGHT), before, after, grace));
    }

    /**
     * Rows (k BINARY, deleted BOOLEAN, row STRUCT) of a table: deletions pass only for keys that were passed on.
     */
    public static Dataset<Row> passPresent(Dataset<Row> input) {
        return input
                .groupByKey((MapFunction<Row, byte[]>) row -> row.<byte[]>getAs(KEY), Encoders.BINARY())
                .transformWithState(new PassPresent(), TimeMode.None(), OutputMode.Update(),
                        Encoders.row(input.schema()));
    }

    private static StructType side(Dataset<Row> input, int ordinal) {
        return (StructType) input.schema().fields()[ordinal].dataType();
    }

    private static Dataset<Row> apply(Dataset<Row> input, StatefulProcessor<byte[], Row, Row> processor) {
        StructType output = new StructType()
                .add("k", DataTypes.BinaryType)
                .add("ts", DataTypes.LongType)
                .add("l", side(input, LEFT))
                .add("r", side(input, RIGHT));
        return input
                .groupByKey((MapFunction<Row, byte[]>) row -> row.<byte[]>getAs(KEY), Encoders.BINARY())
                .transformWithState(processor, TimeMode.None(), OutputMode.Update(), Encoders.row(output));
    }

    private static scala.collection.Iterator<Row> scala(Iterator<Row> rows) {
        return scala.jdk.javaapi.CollectionConverters.asScala(rows);
    }

    private static final class PassPresent extends StatefulProcessor<byte[], Row, Row> {
        private transient ValueState<Boolean> present;

        @Override
        public void init(OutputMode outputMode, TimeMode timeMode) {
            present = getHandle().getValueState("present", Encoders.BOOLEAN(), TTLConfig.NONE());
        }

        @Override
        public scala.collection.Iterator<Row> handleInputRows(byte[] key, scala.collection.Iterator<Row> rows,
                TimerValues timers) {
            List<Row> out = new ArrayList<>();
            while (rows.hasNext()) {
                Row row = rows.next();
                boolean deleted = row.getBoolean(1);
                if (!deleted || present.exists()) {
                    out.add(row);
                }
                if (deleted) {
                    present.clear();
                } else {
                    present.update(true);
                }
            }
            return scala(out.iterator());
        }
    }

    private static final class StreamTableJoin extends StatefulProcessor<byte[], Row, Row> {
        private final StructType tableSchema;
        private final boolean outer;
        private transient ValueState<Row> table;

        StreamTableJoin(StructType tableSchema, boolean outer) {
            this.tableSchema = tableSchema;
            this.outer = outer;
        }

        @Override
        public void init(OutputMode outputMode, TimeMode timeMode) {
            table = getHandle().getValueState("table", Encoders.row(tableSchema), TTLConfig.NONE());
        }

        @Override
        public scala.collection.Iterator<Row> handleInputRows(byte[] key, scala.collection.Iterator<Row> rows,
                TimerValues timers) {
            List<Row> out = new ArrayList<>();
            while (rows.hasNext()) {
                Row row = rows.next();
                if (row.getInt(SIDE) == 1) {
                    if (row.isNullAt(RIGHT)) {
                        table.clear();
                    } else {
                        table.update(row.getStruct(RIGHT));
                    }
                } else {
                    Row current = table.get();
                    if (current != null || outer) {
                        out.add(RowFactory.create(key, row.getLong(TS), row.getStruct(LEFT), current));
                    }
                }
            }
            return scala(out.iterator());
        }
    }

    private static final class StreamStreamJoin extends StatefulProcessor<byte[], Row, Row> {
        private static final StructType SLOT =
                new StructType().add("ts", DataTypes.LongType, false).add("n", DataTypes.LongType, false);
        private final StructType[] schemas;
        private final long[] before;
        private final long[] after;
        private final long kept;
        private transient List<MapState<Row, Row>> buffers;

        StreamStreamJoin(StructType left, StructType right, long before, long after, long grace) {
            this.schemas = new StructType[] {left, right};
            this.before = new long[] {before, after}; // seen from the right record the bounds change places
            this.after = new long[] {after, before};
            this.kept = Math.max(before, after) + grace;
        }

        @Override
        public void init(OutputMode outputMode, TimeMode timeMode) {
            Encoder<Row> slot = Encoders.row(SLOT);
            buffers = List.of(
                    getHandle().getMapState("left", slot, Encoders.row(schemas[0]), TTLConfig.NONE()),
                    getHandle().getMapState("right", slot, Encoders.row(schemas[1]), TTLConfig.NONE()));
        }

        @Override
        public scala.collection.Iterator<Row> handleInputRows(byte[] key, scala.collection.Iterator<Row> rows,
                TimerValues timers) {
            List<Row> out = new ArrayList<>();
            while (rows.hasNext()) {
                Row row = rows.next();
                int side = row.getInt(SIDE);
                long ts = row.getLong(TS);
                Row value = row.getStruct(side == 0 ? LEFT : RIGHT);
                List<Object[]> matches = new ArrayList<>();
                long newest = Math.max(ts, expire(buffers.get(1 - side), side, ts, matches));
                matches.sort((a, b) -> Long.compare((Long) a[0], (Long) b[0]));
                for (Object[] match : matches) {
                    long at = Math.max(ts, (Long) match[0]);
                    Row other = (Row) match[1];
                    out.add(side == 0 ? RowFactory.create(key, at, value, other)
                            : RowFactory.create(key, at, other, value));
                }
                newest = Math.max(newest, expire(buffers.get(side), -1, ts, null));
                if (ts + kept >= newest) {
                    MapState<Row, Row> own = buffers.get(side);
                    long n = 0;
                    while (own.containsKey(RowFactory.create(ts, n))) {
                        n++;
                    }
                    own.updateValue(RowFactory.create(ts, n), value);
                }
            }
            return scala(out.iterator());
        }

        /** Collects what matches a record of {@code side} at {@code ts}, drops what no record can match any more. */
        private long expire(MapState<Row, Row> buffer, int side, long ts, List<Object[]> matches) {
            long newest = Long.MIN_VALUE;
            List<Row> stale = new ArrayList<>();
            scala.collection.Iterator<scala.Tuple2<Row, Row>> entries = buffer.iterator();
            while (entries.hasNext()) {
                scala.Tuple2<Row, Row> entry = entries.next();
                long other = entry._1().getLong(0);
                newest = Math.max(newest, other);
                if (matches != null && other >= ts - before[side] && other <= ts + after[side]) {
                    matches.add(new Object[] {other, entry._2()});
                }
                if (other + kept < ts) {
                    stale.add(entry._1());
                }
            }
            for (Row slot : stale) {
                buffer.removeKey(slot);
            }
            return newest;
        }
    }
}
