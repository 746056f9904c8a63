package org.ksqlspark.state;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.internals.state.BeforeCommit;
import org.ksqlspark.internals.state.CheckpointMetadata;
import org.ksqlspark.log.LateRow;
import org.ksqlspark.log.ProcessingLog;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * An operator with exact state per key that processes one record at a time, like a processor of
 * Kafka Streams.
 *
 * <p>Spark groups records by task, the partition that Kafka gives their key. So an operator
 * processes all keys of its task, and stream time (the highest timestamp so far) is exact per task,
 * as KSQL defines it.
 *
 * <p>In: (task INT, k BINARY, side INT, ts BIGINT, v BINARY, h BINARY). A NULL v is a NULL value or
 * a deletion; h are headers. If late records are kept, (p INT, o BIGINT) follow: the record's
 * partition and offset, NULL where they are not known. Rows of side HEARTBEAT are not records: they
 * show that time passes. Out: (k BINARY, ts BIGINT, l BINARY, r BINARY, ws BIGINT, we BIGINT, h
 * BINARY, task INT, st BIGINT); st is the stream time. Rows and headers are PackedRow bytes, so
 * operators know no columns. A result has the headers of the record that caused it; a result that
 * waited for time to pass has none, unless it is made of one record.
 *
 * <p>An operator that says how its rows change ({@link #CHANGES}) has three more columns: (sign
 * INT, nl BINARY, nr BINARY). The sign is 1 for a row that is added, and -1 for one that is taken
 * back; or -2 where another one replaces it, which follows, and is in nl and nr too.
 *
 * <p>State and clocks are kept in a StateCache. They are written when it is full and before the
 * batch's state is committed. A processor is made anew for each attempt at a batch, so what was not
 * committed is forgotten.
 *
 * <p>With an interval, results are held back until it ends on the server's clock, and then only the
 * last one of each key and window is emitted (EMIT CHANGES EVERY).
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
                    .add("h", DataTypes.BinaryType)
                    .add("task", DataTypes.IntegerType)
                    .add("st", DataTypes.LongType);

    private static final StructType OUTPUT_OF_CHANGES =
            OUTPUT.add("sign", DataTypes.IntegerType)
                    .add("nl", DataTypes.BinaryType)
                    .add("nr", DataTypes.BinaryType);

    /** Setting of the query's session: whether an operator says how its rows change. */
    static final String CHANGES = "spark.ksql.changes";

    /** Setting of the query's session: how many operators with state are below this one. */
    static final String NUMBER = "spark.ksql.operator";

    /**
     * Settings of the query's session: the processing log and the query id under which errors are
     * counted (ProcessingLog).
     */
    public static final String LOG = "spark.ksql.log";

    public static final String QUERY = "spark.ksql.query";

    /** Setting of the query's session: the id of its run; empty: it has only one batch. */
    static final String RUN = "spark.ksql.run";

    /**
     * Setting of the query's session, for micro-batches: process all records of a batch by time,
     * from whichever side and partition (ORDER = 'event-time'). They are kept in memory.
     */
    static final String ORDER_BY_TIME = "spark.ksql.orderByTime";

    /** The side of heartbeats. */
    public static final int HEARTBEAT = 2;

    /** The side of rows to retract that another row of the same group replaces. */
    static final int REPLACED = 3;

    private boolean isOrdering;
    private boolean emitsChanges;
    private int number;

    /** By side. */
    private Map<Integer, FormerRows> former = Map.of();

    /** Null: none. */
    private ForgottenKeys forgotten;

    /** Null: late records are only counted. */
    private LateRows lateRows;

    /**
     * Time without records, ms, after which the clock counts as stream time, up to the operator's
     * end(); 0: never.
     */
    private long idle;

    /** Length of the intervals at whose ends results are emitted, ms; 0: results are not held. */
    private long every;

    /** Start time of the query. */
    private long begun;

    private transient ValueState<Long> arrivals;

    /**
     * An upper bound, ms, of the arrival time of the current task's last record; it is stored
     * rarely, so it may be late.
     */
    private transient long lastArrival;

    private String log = "";
    private String query = "";
    private String run = "";
    private transient ArrayDeque<Row> out;
    private transient StateCache cache;

    /** Else what changes is written after each record. */
    private transient boolean isWrittenBeforeCommit;

    /** Null without intervals. */
    private transient HeldResults held;

    /** An interval has ended, and not all held results have been emitted. */
    private transient boolean isReleasing;

    private transient ValueState<Long> clock;

    /** Of the store, under {@link #STORE}: how many entries the operator's states have in it. */
    private transient ValueState<Long> size;

    /** The same, as of now; null: the state was not asked yet. */
    private transient Long entries;

    private transient StateEntries.Store store;

    /** Of the store, in {@link #size} under {@link #STAMP}: see KeptCaches; null: there is none. */
    private transient Long stamp;

    /** Whether this attempt has written it. */
    private transient boolean isStamped;

    /** Where each task's time was when another task's records followed. */
    private transient Map<Integer, Clock> clocks;

    /** Stream time of the current task, ms; Long.MIN_VALUE before the first record. */
    protected transient long streamTime;

    private transient Integer task;
    private transient Clock own;

    /** The current record, as it came in. */
    private transient Row record;

    /** Of the current record. */
    private transient byte[] headers;

    private static final long NEVER = Long.MAX_VALUE;

    /** In the place of a task's number, for what all tasks of a store share. */
    private static final Integer STORE = -1;

    private static final Integer STAMP = -2;

    /** Times of a task, ms. */
    private static final class Clock {
        long streamTime = Long.MIN_VALUE;
        long lastArrival;

        /** When the interval of what is held ends; NEVER: nothing is held. */
        long release = NEVER;

        /** The state does not have this stream time yet. */
        boolean isAhead;
    }

    /** Processes one record; calls emit for each result, in order. */
    protected abstract void process(byte[] key, int side, long ts, byte[] value);

    /** Opens the operator's states. */
    protected abstract void open();

    /**
     * Called when records of another task of the same partition follow, and at first. What an
     * operator keeps of a task in the heap it keeps by the task's number.
     */
    protected void taskChanged(int number) {}

    /**
     * Removes a key from the current task's state, as if no record of it had come.
     *
     * @throws UnsupportedOperationException where an operator's state is not its result's alone
     */
    protected void forget(byte[] key) {
        throw new UnsupportedOperationException(getClass().getSimpleName());
    }

    /** The stream time at which nothing waits any more; Long.MIN_VALUE if nothing waits now. */
    protected long end() {
        return Long.MIN_VALUE;
    }

    /** Called when stream time has advanced without a record; calls emitWaiting for each result. */
    protected void timePassed() {}

    /** Sets the idle timeout, ms; 0: none. Before the operator starts. */
    final void closeAfter(long idle) {
        this.idle = idle;
        begun = System.currentTimeMillis();
    }

    /**
     * Applies an operator with an idle timeout, ms: without records for that long, nothing waits
     * any more whose time has passed by the clock; 0: never.
     */
    static Dataset<Row> apply(Dataset<Row> input, KeyedOperator operator, long idle) {
        operator.closeAfter(idle);
        return apply(input, operator);
    }

    /**
     * Length of the intervals at whose ends results are emitted, ms; 0: they are emitted at once.
     */
    final void setInterval(long every) {
        this.every = every;
    }

    /**
     * Reports late records to a processing log as those of a query; {@code rows}: null if they are
     * only counted.
     */
    final void reportTo(String name, String id, LateRows rows) {
        log = name;
        query = id;
        lateRows = rows;
    }

    /** Completes the rows of these sides before they are processed. */
    final void complete(Map<Integer, FormerRows> sides) {
        former = sides;
    }

    /** Removes these keys before the first record of their batch; null: none. */
    final void forget(ForgottenKeys keys) {
        forgotten = keys;
    }

    static Dataset<Row> apply(Dataset<Row> input, KeyedOperator operator) {
        CheckpointMetadata.prepare();
        operator.run = input.sparkSession().conf().get(RUN, "");
        operator.number = Integer.parseInt(input.sparkSession().conf().get(NUMBER, "0"));
        operator.emitsChanges =
                Boolean.parseBoolean(input.sparkSession().conf().get(CHANGES, "false"));
        operator.forget(
                ForgottenKeys.of(
                        input.sparkSession().conf().get(ForgottenKeys.SETTING, ""),
                        operator.number));
        operator.isOrdering =
                Boolean.parseBoolean(input.sparkSession().conf().get(ORDER_BY_TIME, "false"));
        operator.complete(FormerRows.of(input.sparkSession().conf().get(FormerRows.SETTING, "{}")));
        operator.reportTo(
                input.sparkSession().conf().get(LOG, ""),
                input.sparkSession().conf().get(QUERY, ""),
                LateRows.of(input));
        return input.groupBy("task")
                .as(Encoders.INT(), Encoders.row(input.schema()))
                .transformWithState(
                        operator,
                        TimeMode.None(),
                        OutputMode.Update(),
                        Encoders.row(operator.emitsChanges ? OUTPUT_OF_CHANGES : OUTPUT));
    }

    protected final void emit(byte[] key, long ts, byte[] left, byte[] right) {
        send(key, ts, left, right, null, null, headers, false);
    }

    /**
     * Emits a row of a table, or its deletion.
     *
     * @param isNew the table has no row with this key, or none that was emitted
     */
    protected final void emitChange(byte[] key, long ts, byte[] row, boolean isNew) {
        send(key, ts, row, null, null, null, headers, isNew);
    }

    /** The same for a row of a window. */
    protected final void emitChange(
            byte[] key, long ts, byte[] row, long windowStart, long windowEnd, boolean isNew) {
        send(key, ts, row, null, windowStart, windowEnd, headers, isNew);
    }

    /** Emits a change of a table: rows, with a sign in the column of a window's start. */
    protected final void emit(byte[] key, long ts, byte[] left, byte[] right, long sign) {
        send(key, ts, left, right, sign, null, headers, false);
    }

    /** Says how its rows change instead of what they are. */
    final void emitChanges() {
        emitsChanges = true;
    }

    /** Whether it emits by {@link #replace}. */
    protected final boolean emitsChanges() {
        return emitsChanges;
    }

    /** A row of a table as it is emitted: one part or two, as in a join. */
    protected record Version(byte[] left, byte[] right) {
        /** A row of one part; null: there is none. */
        static Version of(byte[] row) {
            return row == null ? null : new Version(row, null);
        }
    }

    /** Emits how a row of a table changes; null: there was none, or there is none any more. */
    protected final void replace(byte[] key, long ts, Version before, Version after) {
        replace(key, ts, before, after, null, null, headers);
    }

    /** The same for a row of a window; {@code own}: its headers. */
    protected final void replace(
            byte[] key,
            long ts,
            Version before,
            Version after,
            Long windowStart,
            Long windowEnd,
            byte[] own) {
        if (before != null) {
            int sign = after == null ? -1 : -2;
            change(key, ts, before, windowStart, windowEnd, own, sign, after);
        }
        if (after != null) {
            change(key, ts, after, windowStart, windowEnd, own, 1, null);
        }
    }

    private void change(
            byte[] key,
            long ts,
            Version row,
            Long windowStart,
            Long windowEnd,
            byte[] own,
            int sign,
            Version following) {
        out.add(
                RowFactory.create(
                        key,
                        ts,
                        row.left,
                        row.right,
                        windowStart,
                        windowEnd,
                        own,
                        task,
                        streamTime,
                        sign,
                        following == null ? null : following.left,
                        following == null ? null : following.right));
    }

    /** Emits a result that has waited for time to pass. */
    protected final void emitWaiting(byte[] key, long ts, byte[] left, byte[] right) {
        emitWaiting(key, ts, left, right, null);
    }

    /** Emits a result that has waited, with the headers of its own record. */
    protected final void emitWaiting(byte[] key, long ts, byte[] left, byte[] right, byte[] own) {
        send(key, ts, left, right, null, null, own, false);
    }

    /** Emits a result that has waited for time to pass. */
    protected final void emitWaiting(
            byte[] key, long ts, byte[] row, long windowStart, long windowEnd) {
        send(key, ts, row, null, windowStart, windowEnd, null, false);
    }

    /** Emits the result of a window that has closed: the only one, or how it changes the table. */
    protected final void emitClosed(
            byte[] key, long ts, byte[] row, long windowStart, long windowEnd) {
        if (emitsChanges) {
            replace(key, ts, null, Version.of(row), windowStart, windowEnd, null);
        } else {
            emitWaiting(key, ts, row, windowStart, windowEnd);
        }
    }

    private void send(
            byte[] key,
            long ts,
            byte[] left,
            byte[] right,
            Long windowStart,
            Long windowEnd,
            byte[] own,
            boolean isNew) {
        if (held == null) {
            out(key, ts, left, right, windowStart, windowEnd, own);
        } else {
            held.put(new HeldResults.Result(key, ts, left, windowStart, windowEnd, own), isNew);
            if (this.own.release == NEVER) {
                this.own.release = (System.currentTimeMillis() / every + 1) * every;
                held.setRelease(this.own.release);
            }
        }
    }

    private void out(
            byte[] key,
            long ts,
            byte[] left,
            byte[] right,
            Long windowStart,
            Long windowEnd,
            byte[] own) {
        out.add(
                RowFactory.create(
                        key, ts, left, right, windowStart, windowEnd, own, task, streamTime));
    }

    /** The headers of the record that is being processed, packed; null: it has none. */
    protected final byte[] headers() {
        return headers;
    }

    /** Reports that the current record came too late; no grace period would have helped. */
    protected final void late() {
        late(new LateRow.Lateness(streamTime, null, null, null));
    }

    /** Reports that the current record came too late to be used. */
    protected final void late(LateRow.Lateness found) {
        if (log.isEmpty()) {
            return;
        }
        ProcessingLog to = ProcessingLog.of(log);
        if (lateRows == null) {
            to.late(query, found.grace());
        } else {
            to.late(query, lateRows.step, found.grace(), () -> lateRows.of(record, found));
        }
    }

    /** As {@link StateCache#gone}. */
    final long gone() {
        return cache.gone();
    }

    final StateCache.Cached<byte[]> bytes(String name) {
        return cache.over(
                getHandle()
                        .getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    }

    final StateCache.Cached<Long> longs(String name) {
        return cache.over(
                getHandle()
                        .getMapState(name, Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE()));
    }

    @Override
    public final void init(OutputMode outputMode, TimeMode timeMode) {
        out = new ArrayDeque<>();
        clocks = new HashMap<>();
        isWrittenBeforeCommit = BeforeCommit.call(getHandle(), this::write);
        clock = getHandle().getValueState("clock", Encoders.LONG(), TTLConfig.NONE());
        size = getHandle().getValueState("size", Encoders.LONG(), TTLConfig.NONE());
        TaskContext context = TaskContext.get();
        if (context == null) {
            cache = new StateCache(CacheBudget.shared(), BeforeCommit::with);
            cache.close(); // only the states' names and types are wanted
        } else {
            String id = getHandle().getQueryInfo().getQueryId().toString();
            store = new StateEntries.Store(id, number, context.partitionId());
            stamp = ofStore(STAMP);
            Long has = ofStore(STORE);
            cache = KeptCaches.shared().take(cached(), stamp, BeforeCommit::with);
            cache.beginBatch(has == null ? 0 : has);
            context.<Void>addTaskCompletionListener(
                    ended -> {
                        if (cache != null) { // else it was kept
                            cache.close();
                        }
                        return null;
                    });
        }
        if (idle > 0) {
            arrivals = getHandle().getValueState("arrivals", Encoders.LONG(), TTLConfig.NONE());
        }
        if (every > 0) {
            held = new HeldResults(this);
        }
        former.forEach((side, rows) -> rows.open(bytes("former" + side)));
        open();
        if (forgotten != null && context != null && forgotten.areDue(context)) {
            forgotten.tasks().forEach(number -> forget(number, forgotten.keys()));
        }
    }

    /** The store, as one of this run. */
    private StateEntries.Store cached() {
        return new StateEntries.Store(run, number, store.partition());
    }

    private Long ofStore(Integer what) {
        Long[] found = {null};
        BeforeCommit.with(what, () -> found[0] = size.get());
        return found[0];
    }

    /** Removes keys from the state of a task. */
    final void forget(Integer number, List<byte[]> keys) {
        BeforeCommit.with(
                number,
                () -> {
                    change(number);
                    for (byte[] key : keys) {
                        forget(key);
                        if (held != null) {
                            held.forget(key);
                        }
                    }
                    write();
                });
    }

    @Override
    public final scala.collection.Iterator<Row> handleInputRows(
            Integer key, scala.collection.Iterator<Row> rows, TimerValues timers) {
        if (!key.equals(task)) {
            change(key);
        }
        scala.collection.Iterator<Row> own = number == 0 ? rows : BeforeCommit.with(key, rows);
        scala.collection.Iterator<Row> ordered = isOrdering ? byTime(own) : own;
        return new scala.collection.AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                while (out.isEmpty() && (isReleasing || ordered.hasNext())) {
                    if (isReleasing) {
                        release();
                    } else {
                        receive(ordered.next());
                        isReleasing = every > 0 && hasIntervalEnded();
                    }
                    if (!isWrittenBeforeCommit) {
                        write();
                    }
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

    private void receive(Row row) {
        if (row.getInt(2) == HEARTBEAT) {
            heartbeat();
            return;
        }
        if (idle > 0) {
            arrived();
        }
        long ts = row.getLong(3);
        byte[] value = (byte[]) row.get(4);
        if (isSkipped(value)) {
            return;
        }
        if (ts > streamTime) {
            streamTime = ts;
            own.isAhead = true;
        }
        record = row;
        headers = (byte[]) row.get(5);
        byte[] key = (byte[]) row.get(1);
        FormerRows rows = key.length == 0 ? null : former.get(row.getInt(2));
        process(key, row.getInt(2), ts, rows == null ? value : rows.completed(key, value));
    }

    /** Whether a record is as if it were not there: it does not advance the stream time. */
    protected boolean isSkipped(byte[] value) {
        return false;
    }

    private boolean hasIntervalEnded() {
        if (own.release == NEVER) {
            return false;
        }
        long now = System.currentTimeMillis();
        return now >= own.release || own.release - now > every; // the clock may be put back
    }

    /** Emits one of the held results; after the last one, nothing is held. */
    private void release() {
        HeldResults.Result next = held.poll();
        if (next == null) {
            isReleasing = false;
            own.release = NEVER;
        } else {
            out(next.key(), next.ts(), next.row(), null, next.start(), next.end(), next.headers());
        }
    }

    /** Goes on with another task. */
    private void change(Integer number) {
        if (own != null) {
            own.streamTime = streamTime;
            own.lastArrival = lastArrival;
        }
        task = number;
        cache.task(number);
        own = clocks.get(number);
        if (own == null) {
            own = new Clock();
            clocks.put(number, own);
            if (every > 0) {
                Long release = held.release();
                own.release = release == null ? NEVER : release;
            }
            Long kept = clock.get();
            own.streamTime = kept == null ? Long.MIN_VALUE : kept;
            if (idle > 0) {
                Long arrived = arrivals.get();
                own.lastArrival = arrived == null ? begun : Math.max(begun, arrived);
            }
        }
        streamTime = own.streamTime;
        lastArrival = own.lastArrival;
        taskChanged(number);
    }

    /** Writes what the state does not have yet. */
    private void write() {
        cache.write();
        if (own != null) {
            own.streamTime = streamTime;
        }
        clocks.forEach(
                (number, one) -> {
                    if (one.isAhead) {
                        BeforeCommit.with(number, () -> clock.update(one.streamTime));
                        one.isAhead = false;
                    }
                });
        count();
        if (cache.takeChanged() && !isStamped) {
            stamp = ThreadLocalRandom.current().nextLong();
            BeforeCommit.with(STAMP, () -> size.update(stamp));
            isStamped = true;
        }
    }

    /** Counts the entries in the state, which it says itself after a restart. */
    private void count() {
        long growth = cache.takeGrowth();
        if (entries != null && growth == 0) {
            return;
        }
        Long before = entries == null ? ofStore(STORE) : entries;
        entries = (before == null ? 0 : before) + growth;
        if (growth != 0) {
            BeforeCommit.with(STORE, () -> size.update(entries));
        }
        if (!log.isEmpty() && store != null) {
            StateEntries.set(new StateEntries.Query(log, query), store, entries);
        }
    }

    private boolean isAhead() {
        return cache.isAhead() || clocks.values().stream().anyMatch(one -> one.isAhead);
    }

    /**
     * Called when the state was committed.
     *
     * @throws IllegalStateException where it was committed without what had changed; the batch is
     *     then done again, from the state before it
     */
    @Override
    public final void close() {
        if (cache != null && isWrittenBeforeCommit && isAhead() && isCommitted()) {
            throw new IllegalStateException("the state was committed before it was written");
        }
        if (cache != null && store != null && !run.isEmpty()) {
            KeptCaches.shared().keep(cached(), stamp, cache);
            cache = null;
        }
    }

    /** A batch query has state too, but throws it away. */
    private boolean isCommitted() {
        return getHandle().getQueryInfo().getQueryId().getMostSignificantBits() != 0;
    }

    private void arrived() {
        long now = System.currentTimeMillis();
        if (now > lastArrival) {
            lastArrival = now + idle / 10;
            arrivals.update(lastArrival);
        }
    }

    private void heartbeat() {
        if (idle == 0 || System.currentTimeMillis() - lastArrival < idle) {
            return;
        }
        // what is younger than the clock says waits on: a silent input does not make time go faster
        long end = Math.min(end(), System.currentTimeMillis());
        if (end > streamTime) {
            streamTime = end;
            own.isAhead = true;
            timePassed();
        }
    }

    /**
     * All records by time; for equal times, a table's records (side 1) before the others, else in
     * order of arrival.
     */
    private static scala.collection.Iterator<Row> byTime(scala.collection.Iterator<Row> rows) {
        java.util.ArrayList<Row> all = new java.util.ArrayList<>();
        while (rows.hasNext()) {
            all.add(rows.next());
        }
        all.sort(
                java.util.Comparator.<Row>comparingLong(
                                row -> row.getInt(2) == HEARTBEAT ? Long.MAX_VALUE : row.getLong(3))
                        .thenComparing(row -> row.getInt(2) == 1 ? 0 : 1));
        return scala.jdk.javaapi.CollectionConverters.asScala(all.iterator());
    }
}
