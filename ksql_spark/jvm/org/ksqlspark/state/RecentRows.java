package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * The latest rows of each key in the order of arrival, of which frames are aggregated: of a long
 * frame, the rows of two pages and the groups of those between, which have been aggregated before.
 *
 * <p>State: the newest rows under their key, oldest first, as (time, if there are frames of time,
 * length, bytes). Those before them are in pages of {@link #MOST} rows under (number, key), which
 * do not change. Under the key, {@link Page} of each. Rows of release 0.1.0, which are all under
 * their key, become pages when the key gets a row.
 */
final class RecentRows {
    /** How many rows a page has. */
    static final int MOST = 64;

    private final Aggregator[] aggregators;

    /** Whether the groups of pages are kept for each aggregator, and merged. */
    private final boolean[] merges;

    /** How many rows frames go back. */
    private final int most;

    /** How much older than the latest one rows are kept, ms; negative: without their times. */
    private final long longest;

    private final StateCache.Cached<byte[]> newest;
    private final StateCache.Cached<byte[]> pages;
    private final StateCache.Cached<byte[]> directories;

    /** A row's time, 0 without frames of time, and its arguments. */
    record Row(long time, byte[] arguments) {}

    /**
     * What is known of a page without reading it.
     *
     * @param first the earliest time of its rows
     * @param last the latest time
     * @param groups its rows' group for each aggregator; null: it does not merge
     */
    private record Page(int number, long first, long last, byte[][] groups) {}

    /** Of an operator, which has no other states of these names. */
    RecentRows(
            KeyedOperator operator,
            Aggregator[] aggregators,
            boolean[] merges,
            int most,
            long longest) {
        this.aggregators = aggregators;
        this.merges = merges;
        this.most = most;
        this.longest = longest;
        newest = operator.bytes("recent");
        pages = operator.bytes("pages");
        directories = operator.bytes("directories");
    }

    /** Those of a key, to which a row is added. */
    Rows of(byte[] key) {
        return new Rows(key);
    }

    void remove(byte[] key) {
        for (Page page : directory(key)) {
            pages.removeKey(NumberedKey.of(page.number, key));
        }
        directories.removeKey(key);
        newest.removeKey(key);
    }

    /** The rows of a key. */
    final class Rows {
        private final byte[] key;
        private final List<Row> rows;
        private final List<Page> before;

        private Rows(byte[] key) {
            this.key = key;
            rows = unpacked(newest.getValue(key));
            before = directory(key);
        }

        void add(Row row) {
            rows.add(row);
        }

        /** The latest time. */
        long latest() {
            long latest = Long.MIN_VALUE;
            for (Row row : rows) {
                latest = Math.max(latest, row.time);
            }
            for (Page page : before) {
                latest = Math.max(latest, page.last);
            }
            return latest;
        }

        /**
         * Adds rows to an aggregator.
         *
         * @param oldest how many rows before the newest one the first of them is
         * @param youngest how many rows before it the last of them is
         * @param from their earliest time
         * @param to their latest time
         */
        void addTo(int frame, long oldest, long youngest, long from, long to) {
            long age = rows.size() + (long) before.size() * MOST - 1; // of the page's first row
            for (Page page : before) {
                long end = age - MOST + 1;
                if (end <= oldest && age >= youngest && page.first <= to && page.last >= from) {
                    boolean isWhole = age <= oldest && end >= youngest;
                    isWhole &= page.first >= from && page.last <= to;
                    if (isWhole && page.groups[frame] != null) {
                        aggregators[frame].merge(page.groups[frame], 0);
                    } else {
                        add(frame, page(page.number), age, oldest, youngest, from, to);
                    }
                }
                age -= MOST;
            }
            add(frame, rows, age, oldest, youngest, from, to);
        }

        private void add(
                int frame,
                List<Row> some,
                long first,
                long oldest,
                long youngest,
                long from,
                long to) {
            long age = first;
            for (Row row : some) {
                if (age <= oldest && age >= youngest && row.time >= from && row.time <= to) {
                    aggregators[frame].add(row.arguments);
                }
                age--;
            }
        }

        private List<Row> page(int number) {
            return unpacked(pages.getValue(NumberedKey.of(number, key)));
        }

        /** Writes what frames may still need. */
        void save() {
            long from = longest < 0 ? Long.MAX_VALUE : latest() - longest;
            boolean isChanged = removePages(from);
            List<Row> kept = new ArrayList<>();
            for (int n = 0; n < rows.size(); n++) {
                if (n >= rows.size() - most || rows.get(n).time >= from) {
                    kept.add(rows.get(n));
                }
            }
            while (kept.size() > MOST) {
                List<Row> full = kept.subList(0, MOST);
                int number = before.isEmpty() ? 0 : before.get(before.size() - 1).number + 1;
                pages.updateValue(NumberedKey.of(number, key), packed(full));
                before.add(described(number, full));
                full.clear();
                isChanged = true;
            }
            newest.updateValue(key, packed(kept));
            if (isChanged) {
                write(key, before);
            }
        }

        /** Removes pages without a row that a frame may need; returns whether there were any. */
        private boolean removePages(long from) {
            int size = before.size();
            long after = rows.size() + (long) size * MOST;
            for (Iterator<Page> each = before.iterator(); each.hasNext(); ) {
                Page page = each.next();
                after -= MOST;
                if (after >= most && page.last < from) {
                    pages.removeKey(NumberedKey.of(page.number, key));
                    each.remove();
                }
            }
            return before.size() < size;
        }
    }

    private Page described(int number, List<Row> rows) {
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        for (Row row : rows) {
            first = Math.min(first, row.time);
            last = Math.max(last, row.time);
        }
        byte[][] groups = new byte[aggregators.length][];
        for (int i = 0; i < aggregators.length; i++) {
            if (merges[i]) {
                aggregators[i].reset();
                for (Row row : rows) {
                    aggregators[i].add(row.arguments);
                }
                groups[i] = aggregators[i].save(0);
            }
        }
        return new Page(number, first, last, groups);
    }

    private List<Page> directory(byte[] key) {
        List<Page> directory = new ArrayList<>();
        byte[] saved = directories.getValue(key);
        if (saved != null) {
            ByteBuffer in = ByteBuffer.wrap(saved);
            while (in.hasRemaining()) {
                Page page =
                        new Page(
                                in.getInt(),
                                in.getLong(),
                                in.getLong(),
                                new byte[aggregators.length][]);
                for (int i = 0; i < aggregators.length; i++) {
                    int length = in.getInt();
                    if (length >= 0) {
                        page.groups[i] = new byte[length];
                        in.get(page.groups[i]);
                    }
                }
                directory.add(page);
            }
        }
        return directory;
    }

    private void write(byte[] key, List<Page> directory) {
        if (directory.isEmpty()) {
            directories.removeKey(key);
            return;
        }
        int size = 0;
        for (Page page : directory) {
            size += 20;
            for (byte[] group : page.groups) {
                size += 4 + (group == null ? 0 : group.length);
            }
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Page page : directory) {
            out.putInt(page.number).putLong(page.first).putLong(page.last);
            for (byte[] group : page.groups) {
                out.putInt(group == null ? -1 : group.length);
                if (group != null) {
                    out.put(group);
                }
            }
        }
        directories.updateValue(key, out.array());
    }

    private List<Row> unpacked(byte[] bytes) {
        List<Row> rows = new ArrayList<>();
        if (bytes != null) {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            while (in.hasRemaining()) {
                long time = longest >= 0 ? in.getLong() : 0;
                byte[] row = new byte[in.getInt()];
                in.get(row);
                rows.add(new Row(time, row));
            }
        }
        return rows;
    }

    private byte[] packed(List<Row> rows) {
        int size = 0;
        for (Row row : rows) {
            size += (longest >= 0 ? 12 : 4) + row.arguments.length;
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Row row : rows) {
            if (longest >= 0) {
                out.putLong(row.time);
            }
            out.putInt(row.arguments.length).put(row.arguments);
        }
        return out.array();
    }
}
