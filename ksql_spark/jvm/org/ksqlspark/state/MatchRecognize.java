package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.ksqlspark.state.PartialMatches.Beginning;
import org.ksqlspark.state.PartialMatches.Match;
import org.ksqlspark.state.PartialMatches.Partial;
import org.ksqlspark.state.PatternExpressions.Values;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The matches of a pattern in the rows of each key, in the order of arrival (MATCH_RECOGNIZE,
 * reference §6.17).
 *
 * <p>Each row continues the partial matches that are there, and may begin one. Of those that begin
 * with the same row, the first one in the order of preference wins: rows that are a match wait for
 * those that are preferred to it. Of matches that begin with different rows, the earlier one wins:
 * later ones that may not overlap it wait for it.
 *
 * <p>In: rows of two columns, the record's row (without ALL ROWS PER MATCH empty) and its
 * arguments. Out: the record's row (one for each row of the match, or without it an empty one), and
 * a row with what {@link PatternExpressions#results} gives for the rows so far, and with ALL ROWS
 * PER MATCH then for all rows of the match.
 *
 * <p>The rows of a match are at most WITHIN apart. What began earlier is dropped once stream time
 * is past that; a match among it is emitted then. A record that is so late is left out. A queue
 * finds keys without further rows: it has a key once, or with each row that may begin a match that
 * waits.
 *
 * <p>State per key: {@link PartialMatches}; for PREV the times and arguments of the last records,
 * the last one first; with ALL ROWS PER MATCH the time, headers, record and row of each row of a
 * partial match, by (its number, key).
 */
final class MatchRecognize extends KeyedOperator {
    /** So many keys are looked at for one record at most, so that none waits long. */
    private static final int MOST_KEYS = 1000;

    /** So many partial matches may a key have; each of its rows is compared with all of them. */
    private static final int MOST_PARTIALS = 100_000;

    /** Where the next match may begin. */
    enum Skip {
        PAST_LAST_ROW,
        TO_NEXT_ROW,
        TO_FIRST,
        TO_LAST
    }

    private final Automaton automaton;
    private final PatternExpressions expressions;
    private final long within;
    private final Skip skip;

    /** The symbol of TO_FIRST and TO_LAST. */
    private final int skipTo;

    private final boolean isAllRows;

    private transient StateCache.Cached<byte[]> partials;
    private transient StateCache.Cached<byte[]> recent;
    private transient StateCache.Cached<byte[]> rows;
    private transient KeyQueue queue;

    /** For each symbol, whether the current row satisfies its condition; null: not known yet. */
    private transient Boolean[] verdicts;

    MatchRecognize(
            Automaton automaton,
            PatternExpressions expressions,
            long within,
            Skip skip,
            int skipTo,
            boolean isAllRows) {
        this.automaton = automaton;
        this.expressions = expressions;
        this.within = within;
        this.skip = skip;
        this.skipTo = skipTo;
        this.isAllRows = isAllRows;
    }

    @Override
    protected void open() {
        expressions.open();
        partials = bytes("partials");
        if (expressions.back() > 0) {
            recent = bytes("recent");
        }
        if (isAllRows) {
            rows = bytes("rows");
        }
        queue = new KeyQueue(this);
        verdicts = new Boolean[Arrays.stream(automaton.symbols()).max().orElse(0) + 1];
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        forget();
        if (isOver(ts)) {
            late();
            return;
        }
        PartialMatches all = PartialMatches.read(partials.getValue(key));
        boolean wasEmpty = all.beginnings.isEmpty();
        drop(all);
        settle(key, all);
        var record = PackedRow.view(value, 2);
        byte[] row = row(key, ts, record.getBinary(1));
        if (isAllRows) {
            Stored own = new Stored(ts, headers(), record.getBinary(0), row);
            rows.insert(NumberedKey.of(all.next, key), own.write());
        }
        Arrays.fill(verdicts, null);
        for (Beginning one : all.beginnings) {
            one.time = Math.min(one.time, ts);
            List<Partial> before = one.partials;
            one.partials = new ArrayList<>();
            Steps steps = new Steps(one, ts, row, all.next);
            for (Partial partial : before) {
                int[] next = automaton.follow()[partial.state()];
                if (steps.take(next, partial.values(), partial.path())) {
                    break;
                }
            }
        }
        Beginning begun = new Beginning(all.next, ts);
        byte[] path = keepsPaths() ? new byte[0] : null;
        new Steps(begun, ts, row, all.next).take(automaton.first(), expressions.none(), path);
        all.beginnings.add(begun);
        all.next++;
        settle(key, all);
        if (all.size() > MOST_PARTIALS) {
            throw new IllegalStateException(
                    "MATCH_RECOGNIZE: a key has more than "
                            + MOST_PARTIALS
                            + " partial matches. Give the first symbols of the pattern stricter"
                            + " conditions, or shorten WITHIN.");
        }
        boolean isWaiting = automaton.waits() && all.beginnings.contains(begun);
        boolean isLeft = recent != null || !all.beginnings.isEmpty();
        if (isWaiting || (isLeft && all.entries == 0)) {
            queue.append(key, ts);
            all.entries++;
            wasEmpty = false;
        }
        removeRows(key, all);
        if (!wasEmpty || !all.beginnings.isEmpty()) {
            partials.updateValue(key, all.write());
        }
    }

    /** The rows of one beginning with one more row. */
    private final class Steps {
        private final Beginning beginning;
        private final long ts;
        private final byte[] row;
        private final long number;
        private final Set<List<Object>> known = new HashSet<>();

        Steps(Beginning beginning, long ts, byte[] row, long number) {
            this.beginning = beginning;
            this.ts = ts;
            this.row = row;
            this.number = number;
        }

        /**
         * Adds what the row makes of a partial match, the preferred one first.
         *
         * @return whether one of them is a match: it is preferred to all that is not added yet
         */
        boolean take(int[] next, Values values, byte[] path) {
            for (int state : next) {
                if (state == Automaton.ACCEPT) {
                    break;
                }
                int symbol = automaton.symbols()[state];
                Values with = with(symbol, values);
                if (with == null || !known.add(List.of(state, expressions.needed(with)))) {
                    continue;
                }
                byte[] longer = path;
                if (path != null) {
                    longer = Arrays.copyOf(path, path.length + 1);
                    longer[path.length] = (byte) symbol;
                }
                int[] follow = automaton.follow()[state];
                boolean isMatch = follow[follow.length - 1] == Automaton.ACCEPT;
                if (!isMatch || follow.length > 1) {
                    beginning.partials.add(new Partial(state, with, longer));
                }
                if (isMatch) {
                    beginning.match = new Match(number, ts, headers(), with, longer);
                    return true;
                }
            }
            return false;
        }

        /**
         * The values with the row as one of a symbol; null if it does not satisfy its condition.
         */
        private Values with(int symbol, Values values) {
            if (!expressions.isOfRow(symbol)) {
                Values with = expressions.with(symbol, row, values);
                return expressions.test(symbol, row, with) ? with : null;
            }
            if (verdicts[symbol] == null) {
                verdicts[symbol] = expressions.test(symbol, row, values);
            }
            return verdicts[symbol] ? expressions.with(symbol, row, values) : null;
        }
    }

    private boolean keepsPaths() {
        return isAllRows || skipTo >= 0;
    }

    private boolean isOver(long time) {
        return time < streamTime - within;
    }

    /** Drops what began too long ago; what of it is a match stays. */
    private void drop(PartialMatches all) {
        for (Beginning one : all.beginnings) {
            if (isOver(one.time)) {
                one.partials.clear();
            }
        }
    }

    /** Emits the matches that nothing can win against any more. */
    private void settle(byte[] key, PartialMatches all) {
        List<Beginning> left = all.beginnings;
        left.removeIf(one -> one.partials.isEmpty() && one.match == null);
        int n = 0;
        while (n < left.size()) {
            Beginning one = left.get(n);
            if (!one.partials.isEmpty()) {
                if (skip == Skip.PAST_LAST_ROW && one.match != null) {
                    long end = one.match.end(); // it will not end before
                    left.removeIf(other -> other.row > one.row && other.row <= end);
                }
                if (skip != Skip.TO_NEXT_ROW) {
                    return; // what begins later must not overlap it
                }
                n++;
                continue;
            }
            left.remove(n);
            emit(key, one);
            long resume = resume(one);
            left.removeIf(other -> other.row > one.row && other.row < resume);
        }
    }

    /** The first row with which the next match may begin. */
    private long resume(Beginning one) {
        byte[] path = one.match.path();
        int n = -1;
        if (skip == Skip.TO_FIRST) {
            do {
                n++;
            } while (path[n] != skipTo);
        } else if (skip == Skip.TO_LAST) {
            n = path.length;
            do {
                n--;
            } while (path[n] != skipTo);
        } else {
            return (skip == Skip.PAST_LAST_ROW ? one.match.end() : one.row) + 1;
        }
        return one.row + n;
    }

    private void emit(byte[] key, Beginning one) {
        Match match = one.match;
        if (!isAllRows) {
            byte[] results = packed(expressions.results(match.values()));
            emitWaiting(key, match.ts(), new byte[0], results, match.headers());
            return;
        }
        List<byte[]> last = expressions.results(match.values());
        Values values = expressions.none();
        for (int i = 0; i < match.path().length; i++) {
            Stored own = Stored.read(rows.getValue(NumberedKey.of(one.row + i, key)));
            values = expressions.with(match.path()[i], own.row, values);
            List<byte[]> results = new ArrayList<>(expressions.results(values));
            results.addAll(last);
            emitWaiting(key, own.ts, own.record, packed(results), own.headers);
        }
    }

    private static byte[] packed(List<byte[]> parts) {
        UnsafeRowWriter writer = new UnsafeRowWriter(parts.size());
        writer.resetRowWriter();
        for (int i = 0; i < parts.size(); i++) {
            writer.write(i, parts.get(i));
        }
        return writer.getRow().getBytes();
    }

    /** The row of a record, which becomes the last one for PREV. */
    private byte[] row(byte[] key, long ts, byte[] arguments) {
        if (recent == null) {
            return arguments;
        }
        List<Recent> before = recent(key);
        byte[] row = expressions.row(arguments, before.stream().map(Recent::arguments).toList());
        before.add(0, new Recent(ts, arguments));
        remember(key, before.subList(0, Math.min(before.size(), expressions.back())));
        return row;
    }

    /**
     * The last records, the last one first, up to the first one that is over: what PREV finds there
     * and behind it is NULL.
     */
    private List<Recent> recent(byte[] key) {
        List<Recent> found = new ArrayList<>();
        byte[] saved = recent.getValue(key);
        if (saved != null) {
            ByteBuffer in = ByteBuffer.wrap(saved);
            while (in.hasRemaining()) {
                Recent one = new Recent(in.getLong(), PartialMatches.part(in));
                if (isOver(one.time)) {
                    break;
                }
                found.add(one);
            }
        }
        return found;
    }

    private void remember(byte[] key, List<Recent> all) {
        if (all.isEmpty()) {
            recent.removeKey(key);
            return;
        }
        int size = all.stream().mapToInt(one -> 12 + one.arguments.length).sum();
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Recent one : all) {
            out.putLong(one.time).putInt(one.arguments.length).put(one.arguments);
        }
        recent.updateValue(key, out.array());
    }

    /** Forgets the rows that no match needs any more. */
    private void removeRows(byte[] key, PartialMatches all) {
        if (isAllRows) {
            for (; all.stored < all.needed(); all.stored++) {
                rows.removeKey(NumberedKey.of(all.stored, key));
            }
        }
    }

    /**
     * Ends what is over of keys in the queue.
     *
     * @return whether there may be more
     */
    private boolean forget() {
        for (int n = 0; n < MOST_KEYS; n++) {
            KeyQueue.Entry entry = queue.poll(this::isOver);
            if (entry == null) {
                return false;
            }
            end(entry.key());
        }
        return true;
    }

    private void end(byte[] key) {
        PartialMatches all = PartialMatches.read(partials.getValue(key));
        all.entries--;
        drop(all);
        settle(key, all);
        removeRows(key, all);
        List<Long> times = new ArrayList<>();
        all.beginnings.forEach(one -> times.add(one.time));
        if (recent != null) {
            List<Recent> records = recent(key);
            records.forEach(one -> times.add(one.time));
            remember(key, records);
        }
        if (times.isEmpty() && all.entries == 0) {
            partials.removeKey(key);
            return;
        }
        if (all.entries == 0) {
            queue.append(key, java.util.Collections.min(times));
            all.entries++;
        }
        partials.updateValue(key, all.write());
    }

    @Override
    protected long end() {
        return queue.isEmpty() ? Long.MIN_VALUE : streamTime + within + 1;
    }

    @Override
    protected void timePassed() {
        while (forget()) {
            // on
        }
    }

    private record Recent(long time, byte[] arguments) {}

    /** A row of partial matches: its time and headers, the record (ALL ROWS), and the row. */
    private record Stored(long ts, byte[] headers, byte[] record, byte[] row) {
        byte[] write() {
            int size = 20 + record.length + row.length + (headers == null ? 0 : headers.length);
            ByteBuffer out = ByteBuffer.allocate(size).putLong(ts);
            for (byte[] part : Arrays.asList(headers, record, row)) {
                out.putInt(part == null ? -1 : part.length);
                if (part != null) {
                    out.put(part);
                }
            }
            return out.array();
        }

        static Stored read(byte[] saved) {
            ByteBuffer in = ByteBuffer.wrap(saved);
            return new Stored(
                    in.getLong(),
                    PartialMatches.part(in),
                    PartialMatches.part(in),
                    PartialMatches.part(in));
        }
    }
}
