package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
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
import org.ksqlspark.log.ProcessingLog;

import java.util.ArrayDeque;

/**
 * An operator with exact state per key that handles one record at a time, as a Kafka Streams
 * processor does.
 *
 * <p>Spark groups by the task: the partition that Kafka gives the key. So an operator sees all keys
 * of its task, and stream time (the highest timestamp so far) is the task's, record by record, as
 * KSQL defines it.
 *
 * <p>In: (task INT, k BINARY, side INT, ts BIGINT, v BINARY, h BINARY); a NULL v is a NULL value or
 * a deletion, h are headers. Rows of side HEARTBEAT are no records: they only say that time passes.
 * Out: (k BINARY, ts BIGINT, l BINARY, r BINARY, ws BIGINT, we BIGINT, h BINARY). Rows and headers
 * are PackedRow bytes: no operator knows columns. A result has the headers of the record that led
 * to it; what waited for time to pass has none.
 */
public abstract class KeyedOperator extends StatefulProcessor<Integer, Row, Row> {
    static final StructType OUTPUT =
            new StructType()
                    .add("k", DataTypes.BinaryType)
                    .add("ts", DataTypes.LongType)
                    .add("l", DataTypes.BinaryType)
                    .add("r", DataTypes.BinaryType)
                    .add("ws", DataTypes.LongType)
                    .add("we", DataTypes.LongType)
                    .add("h", DataTypes.BinaryType);

    /**
     * Setting of the query's session, for micro-batches: a batch has all records of one side before
     * those of the other; they are taken by time instead, as Kafka Streams chooses between its
     * inputs.
     */
    static final String MERGE_BY_TIME = "spark.ksql.mergeByTime";

    /**
     * Settings of the query's session: where what happens to its records is counted
     * (ProcessingLog).
     */
    public static final String LOG = "spark.ksql.log";

    public static final String QUERY = "spark.ksql.query";

    /**
     * Setting of the query's session, for micro-batches: all records of a batch are taken by time,
     * whichever side and partition they come from (ORDER = 'event-time'). They are held in memory.
     */
    static final String ORDER_BY_TIME = "spark.ksql.orderByTime";

    /** The side of rows that are no records. */
    static final int HEARTBEAT = 2;

    private boolean isMerging;
    private boolean isOrdering;

    /** After how long without records, ms, the operator's end() counts as stream time; 0: never. */
    private long idle;

    /** When the query was started. */
    private long begun;

    private transient ValueState<Long> arrivals;

    /**
     * A moment, ms, before which the last record of the task at hand came; seldom written, so a bit
     * later.
     */
    private transient long lastArrival;

    private String log;
    private String query;
    private transient ArrayDeque<Row> out;
    private transient ValueState<Long> clock;

    /** Stream time of the task at hand, ms; the lowest number before the first record. */
    protected transient long streamTime;

    private transient Integer task;

    /** Of the record at hand. */
    private transient byte[] headers;

    /** Handle one record; call emit for each result, in order. */
    protected abstract void process(byte[] key, int side, long ts, byte[] value);

    /** Open the operator's states. */
    protected abstract void open();

    /**
     * Called when another task's records follow in the same partition, after its clock is loaded.
     */
    protected void taskChanged() {}

    /**
     * The stream time at which nothing waits for it any more; the lowest number where nothing does
     * now.
     */
    protected long end() {
        return Long.MIN_VALUE;
    }

    /** Called when stream time has moved without a record; call emitWaiting for each result. */
    protected void timePassed() {}

    /** The same with a time, ms, after which what waits is over where no records come; 0: never. */
    static Dataset<Row> apply(Dataset<Row> input, KeyedOperator operator, long idle) {
        operator.idle = idle;
        operator.begun = System.currentTimeMillis();
        return apply(input, operator);
    }

    static Dataset<Row> apply(Dataset<Row> input, KeyedOperator operator) {
        operator.isOrdering =
                Boolean.parseBoolean(input.sparkSession().conf().get(ORDER_BY_TIME, "false"));
        operator.isMerging =
                Boolean.parseBoolean(input.sparkSession().conf().get(MERGE_BY_TIME, "false"));
        operator.log = input.sparkSession().conf().get(LOG, "");
        operator.query = input.sparkSession().conf().get(QUERY, "");
        return input.groupBy("task")
                .as(Encoders.INT(), Encoders.row(input.schema()))
                .transformWithState(
                        operator, TimeMode.None(), OutputMode.Update(), Encoders.row(OUTPUT));
    }

    protected final void emit(byte[] key, long ts, byte[] left, byte[] right) {
        out.add(RowFactory.create(key, ts, left, right, null, null, headers));
    }

    protected final void emit(byte[] key, long ts, byte[] row, long windowStart, long windowEnd) {
        out.add(RowFactory.create(key, ts, row, null, windowStart, windowEnd, headers));
    }

    /** Emit what waited for time to pass. */
    protected final void emitWaiting(byte[] key, long ts, byte[] left, byte[] right) {
        out.add(RowFactory.create(key, ts, left, right, null, null, null));
    }

    /** Emit what waited for time to pass. */
    protected final void emitWaiting(
            byte[] key, long ts, byte[] row, long windowStart, long windowEnd) {
        out.add(RowFactory.create(key, ts, row, null, windowStart, windowEnd, null));
    }

    /** Count a record that came too late to be used. */
    protected final void late() {
        if (!log.isEmpty()) {
            ProcessingLog.of(log).late(query);
        }
    }

    protected final MapState<byte[], byte[]> bytes(String name) {
        return getHandle()
                .getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    }

    protected final MapState<byte[], Long> longs(String name) {
        return getHandle().getMapState(name, Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public final void init(OutputMode outputMode, TimeMode timeMode) {
        out = new ArrayDeque<>();
        clock = getHandle().getValueState("clock", Encoders.LONG(), TTLConfig.NONE());
        if (idle > 0) {
            arrivals = getHandle().getValueState("arrivals", Encoders.LONG(), TTLConfig.NONE());
        }
        open();
    }

    @Override
    public final scala.collection.Iterator<Row> handleInputRows(
            Integer key, scala.collection.Iterator<Row> rows, TimerValues timers) {
        if (!key.equals(task)) {
            task = key;
            Long kept = clock.get();
            streamTime = kept == null ? Long.MIN_VALUE : kept;
            if (idle > 0) {
                Long arrived = arrivals.get();
                lastArrival = arrived == null ? begun : Math.max(begun, arrived);
            }
            taskChanged();
        }
        scala.collection.Iterator<Row> ordered =
                isOrdering ? byTime(rows) : isMerging ? merged(rows) : rows;
        return new scala.collection.AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                while (out.isEmpty() && ordered.hasNext()) {
                    Row row = ordered.next();
                    if (row.getInt(2) == HEARTBEAT) {
                        heartbeat();
                        continue;
                    }
                    if (idle > 0) {
                        arrived();
                    }
                    long ts = row.getLong(3);
                    if (ts > streamTime) {
                        streamTime = ts;
                        clock.update(ts);
                    }
                    headers = (byte[]) row.get(5);
                    process((byte[]) row.get(1), row.getInt(2), ts, (byte[]) row.get(4));
                }
                return !out.isEmpty();
            }

            @Override
            public Row next() {
                if (!hasNext()) {
                    throw new java.util.NoSuchElementException();
                }
                return out.poll();
            }
        };
    }

    private void arrived() {
        long now = System.currentTimeMillis();
        if (now > lastArrival) {
            lastArrival = now + idle / 10;
            arrivals.update(lastArrival);
        }
    }

    private void heartbeat() {
        if (System.currentTimeMillis() - lastArrival < idle) {
            return;
        }
        long end = end();
        if (end > streamTime) {
            streamTime = end;
            clock.update(end);
            timePassed();
        }
    }

    /**
     * All records by time; a table's (side 1) before a stream's where they tie, else as they came.
     */
    private static scala.collection.Iterator<Row> byTime(scala.collection.Iterator<Row> rows) {
        java.util.ArrayList<Row> all = new java.util.ArrayList<>();
        while (rows.hasNext()) {
            all.add(rows.next());
        }
        all.sort(
                java.util.Comparator.<Row>comparingLong(
                                row -> row.getInt(2) == HEARTBEAT ? Long.MAX_VALUE : row.getLong(3))
                        .thenComparing(row -> -row.getInt(2)));
        return scala.jdk.javaapi.CollectionConverters.asScala(all.iterator());
    }

    /**
     * Each side's records in their order, the side whose next one is older first; a table (side 1)
     * before a tie.
     */
    private static scala.collection.Iterator<Row> merged(scala.collection.Iterator<Row> rows) {
        ArrayDeque<Row> left = new ArrayDeque<>();
        ArrayDeque<Row> right = new ArrayDeque<>();
        while (rows.hasNext()) {
            Row row = rows.next();
            (row.getInt(2) == 0 ? left : right).add(row);
        }
        return new scala.collection.AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return !left.isEmpty() || !right.isEmpty();
            }

            @Override
            public Row next() {
                if (left.isEmpty() || right.isEmpty()) {
                    return (left.isEmpty() ? right : left).remove();
                }
                return (left.peek().getLong(3) < right.peek().getLong(3) ? left : right).remove();
            }
        };
    }
}
