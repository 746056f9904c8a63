package org.ksqlspark.state;

import org.ksqlspark.state.PatternExpressions.Values;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The partial matches of a key, by the row with which they begin, and their stored form.
 *
 * <p>That is: a version; how many entries of the queue the key has; the number of the next row, and
 * of the first one that is stored; then each beginning: the row's number, the time of its earliest
 * row, whether rows are a match already, that match (the number and the time of its last row, this
 * row's headers, its values and path), and its partial matches (state, values, path), the preferred
 * one first. Lists have their length before them, arrays too (-1: null).
 */
final class PartialMatches {
    private static final byte VERSION = 1;

    /**
     * Rows that end in a state; {@code path} is the symbol of each row, null if nobody needs it.
     */
    record Partial(int state, Values values, byte[] path) {}

    /** Rows that are a match. */
    record Match(long end, long ts, byte[] headers, Values values, byte[] path) {}

    /** All that begins with one row. */
    static final class Beginning {
        final long row;

        /** The earliest of the times of its rows. */
        long time;

        /** Preferred to all that is in {@code partials} no more; null: there is none. */
        Match match;

        List<Partial> partials = new ArrayList<>();

        Beginning(long row, long time) {
            this.row = row;
            this.time = time;
        }
    }

    int entries;
    long next;
    long stored;
    final List<Beginning> beginnings = new ArrayList<>();

    /** The number of the first row that is still needed. */
    long needed() {
        return beginnings.isEmpty() ? next : beginnings.get(0).row;
    }

    int size() {
        return beginnings.stream().mapToInt(one -> one.partials.size()).sum();
    }

    /**
     * What {@link #write} wrote; null: nothing yet.
     *
     * @throws IllegalStateException if it has another version
     */
    static PartialMatches read(byte[] saved) {
        PartialMatches found = new PartialMatches();
        if (saved == null) {
            return found;
        }
        ByteBuffer in = ByteBuffer.wrap(saved);
        byte version = in.get();
        if (version != VERSION) {
            throw new IllegalStateException(
                    "The partial matches have version "
                            + version
                            + "; this ksql-spark reads version "
                            + VERSION
                            + ".");
        }
        found.entries = in.getInt();
        found.next = in.getLong();
        found.stored = in.getLong();
        for (int i = in.getInt(); i > 0; i--) {
            Beginning one = new Beginning(in.getLong(), in.getLong());
            if (in.get() != 0) {
                one.match = new Match(in.getLong(), in.getLong(), part(in), values(in), part(in));
            }
            for (int n = in.getInt(); n > 0; n--) {
                one.partials.add(new Partial(in.getInt(), values(in), part(in)));
            }
            found.beginnings.add(one);
        }
        return found;
    }

    byte[] write() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            out.writeInt(entries);
            out.writeLong(next);
            out.writeLong(stored);
            out.writeInt(beginnings.size());
            for (Beginning one : beginnings) {
                out.writeLong(one.row);
                out.writeLong(one.time);
                out.writeBoolean(one.match != null);
                if (one.match != null) {
                    out.writeLong(one.match.end);
                    out.writeLong(one.match.ts);
                    write(one.match.headers, out);
                    write(one.match.values, out);
                    write(one.match.path, out);
                }
                out.writeInt(one.partials.size());
                for (Partial partial : one.partials) {
                    out.writeInt(partial.state);
                    write(partial.values, out);
                    write(partial.path, out);
                }
            }
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    private static void write(Values values, DataOutputStream out) throws IOException {
        write(values.slots(), out);
        out.writeInt(values.buffers().length);
        for (byte[] buffer : values.buffers()) {
            write(buffer, out);
        }
    }

    private static Values values(ByteBuffer in) {
        byte[] slots = part(in);
        byte[][] buffers = new byte[in.getInt()][];
        for (int i = 0; i < buffers.length; i++) {
            buffers[i] = part(in);
        }
        return new Values(slots, buffers);
    }

    static void write(byte[] part, DataOutputStream out) throws IOException {
        out.writeInt(part == null ? -1 : part.length);
        if (part != null) {
            out.write(part);
        }
    }

    static byte[] part(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }
}
