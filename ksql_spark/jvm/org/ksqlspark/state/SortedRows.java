package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * The rows of each group of a table in an order, of equal ones those first that came first. A
 * change reads and writes one page of them, however many a group has.
 *
 * <p>State: the first page of each group under its key, as (time, length and bytes of the table's
 * key, of the row and of the values that order it). A group that outgrows its page has further ones
 * under (number, group's key), a {@link Directory} under its key, and under (group's key, table's
 * key) the number of the page of each row that is not in the first one. A first page that release
 * 0.1.0 has filled with all rows of a group becomes several when the group gets a row.
 */
final class SortedRows {
    /** How many rows a page has at most. */
    private static final int MOST = 32;

    private static final int FIRST = 0;

    /** Of the values that order rows. */
    private final Comparator<byte[]> order;

    private final StateCache.Cached<byte[]> firsts;
    private final StateCache.Cached<byte[]> others;
    private final StateCache.Cached<byte[]> directories;
    private final StateCache.Cached<Long> places;

    /** A row with its time, the table's key and the values that order it. */
    record Sorted(long ts, byte[] id, byte[] row, byte[] values) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Sorted sorted
                    && sorted.ts == ts
                    && Arrays.equals(sorted.id, id)
                    && Arrays.equals(sorted.row, row)
                    && Arrays.equals(sorted.values, values);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(row);
        }
    }

    /** Of an operator, which has no other states of these names. */
    SortedRows(KeyedOperator operator, Comparator<byte[]> order) {
        this.order = order;
        firsts = operator.bytes("best");
        others = operator.bytes("pages");
        directories = operator.bytes("directories");
        places = operator.longs("places");
    }

    /** The rows of a group, read page by page; it must not change meanwhile. */
    Iterable<Sorted> of(byte[] key) {
        return () ->
                new Iterator<>() {
                    private final Directory directory = directory(key);
                    private Iterator<Sorted> page = page(key, FIRST).iterator();
                    private int next;

                    @Override
                    public boolean hasNext() {
                        while (!page.hasNext() && next < directory.size()) {
                            page = page(key, directory.number(next++)).iterator();
                        }
                        return page.hasNext();
                    }

                    @Override
                    public Sorted next() {
                        if (!hasNext()) {
                            throw new NoSuchElementException();
                        }
                        return page.next();
                    }
                };
    }

    void add(byte[] key, Sorted row) {
        Directory directory = directory(key);
        int at = directory.find(row.values);
        int number = at < 0 ? FIRST : directory.number(at);
        List<Sorted> page = page(key, number);
        insert(row, page, order);
        if (number != FIRST) {
            places.updateValue(place(key, row.id), (long) number);
        }
        if (page.size() > MOST) {
            split(key, directory, at, page);
        } else {
            write(key, number, page);
        }
    }

    /** Removes the row with a key of the table, if there is one. */
    void remove(byte[] key, byte[] id) {
        Directory directory = directory(key);
        byte[] place = place(key, id);
        Long other = directory.size() == 0 ? null : places.getValue(place);
        int number = other == null ? FIRST : other.intValue();
        List<Sorted> page = page(key, number);
        if (!page.removeIf(row -> Arrays.equals(row.id, id))) {
            return;
        }
        write(key, number, page);
        if (number != FIRST) {
            places.removeKey(place);
            if (page.isEmpty()) {
                directory.remove(number);
                write(key, directory);
            }
        }
    }

    /** Puts a row into a list behind those that are not greater. */
    static void insert(Sorted row, List<Sorted> rows, Comparator<byte[]> order) {
        int place = rows.size();
        while (place > 0 && order.compare(row.values, rows.get(place - 1).values) < 0) {
            place--;
        }
        rows.add(place, row);
    }

    /** Leaves the first rows of a page in it, and puts the others into new pages behind it. */
    private void split(byte[] key, Directory directory, int at, List<Sorted> page) {
        int kept = MOST / 2;
        write(key, at < 0 ? FIRST : directory.number(at), page.subList(0, kept));
        int number = directory.greatest();
        for (int from = kept; from < page.size(); from += kept) {
            List<Sorted> part = page.subList(from, Math.min(from + kept, page.size()));
            number++;
            at++;
            directory.add(at, number, part.get(0).values);
            write(key, number, part);
            for (Sorted row : part) {
                places.updateValue(place(key, row.id), (long) number);
            }
        }
        write(key, directory);
    }

    private Directory directory(byte[] key) {
        return new Directory(directories.getValue(key));
    }

    private void write(byte[] key, Directory directory) {
        if (directory.size() == 0) {
            directories.removeKey(key);
        } else {
            directories.updateValue(key, directory.bytes);
        }
    }

    private List<Sorted> page(byte[] key, int number) {
        return unpacked(
                number == FIRST
                        ? firsts.getValue(key)
                        : others.getValue(NumberedKey.of(number, key)));
    }

    private void write(byte[] key, int number, List<Sorted> page) {
        StateCache.Cached<byte[]> to = number == FIRST ? firsts : others;
        byte[] place = number == FIRST ? key : NumberedKey.of(number, key);
        if (page.isEmpty()) {
            to.removeKey(place);
        } else {
            to.updateValue(place, packed(page));
        }
    }

    private static byte[] place(byte[] key, byte[] id) {
        return ByteBuffer.allocate(4 + key.length + id.length)
                .putInt(key.length)
                .put(key)
                .put(id)
                .array();
    }

    static List<Sorted> unpacked(byte[] bytes) {
        List<Sorted> rows = new ArrayList<>();
        if (bytes != null) {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            while (in.hasRemaining()) {
                rows.add(new Sorted(in.getLong(), part(in), part(in), part(in)));
            }
        }
        return rows;
    }

    private static byte[] part(ByteBuffer in) {
        byte[] bytes = new byte[in.getInt()];
        in.get(bytes);
        return bytes;
    }

    static byte[] packed(List<Sorted> rows) {
        int size = 0;
        for (Sorted row : rows) {
            size += 20 + row.id.length + row.row.length + row.values.length;
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Sorted row : rows) {
            out.putLong(row.ts);
            for (byte[] part : List.of(row.id, row.row, row.values)) {
                out.putInt(part.length).put(part);
            }
        }
        return out.array();
    }

    /**
     * The pages of a group behind the first one, in order: how many they are, the number of each
     * and where its values end, and the values that were its first row's when it was made. No row
     * in the page is before them, and none in the page before it is behind them.
     */
    private final class Directory {
        private byte[] bytes;
        private ByteBuffer in;

        /** Null: there are none. */
        Directory(byte[] bytes) {
            set(bytes == null ? new byte[4] : bytes);
        }

        private void set(byte[] changed) {
            bytes = changed;
            in = ByteBuffer.wrap(changed);
        }

        int size() {
            return in.getInt(0);
        }

        int number(int at) {
            return in.getInt(4 + 8 * at);
        }

        private int end(int at) {
            return at < 0 ? 0 : in.getInt(8 + 8 * at);
        }

        private byte[] values(int at) {
            int begin = 4 + 8 * size();
            return Arrays.copyOfRange(bytes, begin + end(at - 1), begin + end(at));
        }

        /**
         * The place of the last page that does not begin behind some values; -1: the first page.
         */
        int find(byte[] values) {
            int low = 0;
            int high = size();
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (order.compare(values(middle), values) <= 0) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            return low - 1;
        }

        int greatest() {
            int greatest = FIRST;
            for (int at = 0; at < size(); at++) {
                greatest = Math.max(greatest, number(at));
            }
            return greatest;
        }

        void add(int at, int number, byte[] values) {
            write(at, at, number, values);
        }

        void remove(int number) {
            for (int at = 0; at < size(); at++) {
                if (number(at) == number) {
                    write(at, at + 1, FIRST, null);
                    return;
                }
            }
        }

        /** With a page, unless its values are null, in place of those from one place to another. */
        private void write(int from, int to, int number, byte[] values) {
            int added = values == null ? 0 : 1;
            int length = values == null ? 0 : values.length;
            int taken = end(to - 1) - end(from - 1);
            int size = size() + added - (to - from);
            int begin = 4 + 8 * size();
            ByteBuffer out =
                    ByteBuffer.allocate(bytes.length + 8 * (size - size()) + length - taken);
            out.putInt(size).put(bytes, 4, 8 * from);
            if (values != null) {
                out.putInt(number).putInt(end(from - 1) + length);
            }
            for (int at = to; at < size(); at++) {
                out.putInt(number(at)).putInt(end(at) + length - taken);
            }
            out.put(bytes, begin, end(from - 1));
            if (values != null) {
                out.put(values);
            }
            out.put(bytes, begin + end(to - 1), end(size() - 1) - end(to - 1));
            set(out.array());
        }
    }
}
