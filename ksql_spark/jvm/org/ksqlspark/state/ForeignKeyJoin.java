package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A table-table join on a foreign key (reference §6.7), as three operators with topics between
 * them: the rows of the left table are sent to the row of their foreign key, joined there, and sent
 * back to their own key.
 *
 * <p>A message consists of (instruction, version of the left row, timestamp, primary key, left
 * row). The version lets the last operator drop answers to a left row that has changed since. It
 * grows even if the first operator loses state that the last one has: after a crash, each goes back
 * to a checkpoint of its own, and compaction may have removed left rows since.
 */
final class ForeignKeyJoin {
    /** Answer in any case; the result is a deletion if no row matches. */
    private static final byte ANSWER = 0;

    /** Answer only if a row matches: a new row of an INNER join. */
    private static final byte ANSWER_IF_MATCHED = 1;

    /** Remove the row without an answer, because its foreign key has changed. */
    private static final byte FORGET = 2;

    /** Remove the row, and answer that it is gone. */
    private static final byte DELETE = 3;

    private ForeignKeyJoin() {}

    /**
     * First operator, keyed by the left table's key. The input's value starts with the foreign key.
     */
    static final class Subscribe extends KeyedOperator {
        /** Versions per millisecond: more than there are changes of one key. */
        private static final int VERSION_BITS = 20;

        private final boolean isOuter;
        private transient MapState<byte[], byte[]> rows;
        private transient long minVersion;

        Subscribe(boolean isOuter) {
            this.isOuter = isOuter;
        }

        @Override
        protected void open() {
            rows = bytes("rows");
            minVersion = System.currentTimeMillis() << VERSION_BITS;
        }

        /**
         * The value is (length of the foreign key's bytes, these bytes, the row). In the output, k
         * is the foreign key.
         */
        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            byte[] saved = rows.getValue(key);
            long next = saved == null ? 0 : ByteBuffer.wrap(saved).getLong() + 1;
            long version = Math.max(next, minVersion);
            byte[] oldKey = saved == null || saved.length == 8 ? null : foreignKey(saved, 8);
            boolean wasThere = oldKey != null;
            if (value == null) {
                // the version stays, so that answers that are still under way are known to be old
                rows.updateValue(key, ByteBuffer.allocate(8).putLong(version).array());
                if (wasThere) {
                    emit(oldKey, ts, message(DELETE, version, ts, key, null), null);
                }
                return;
            }
            byte[] newKey = foreignKey(value, 0);
            rows.updateValue(
                    key, ByteBuffer.allocate(8 + value.length).putLong(version).put(value).array());
            if (wasThere && !Arrays.equals(oldKey, newKey)) {
                emit(oldKey, ts, message(FORGET, version, ts, key, null), null);
            }
            byte[] row = Arrays.copyOfRange(value, 4 + newKey.length, value.length);
            byte instruction = wasThere || isOuter ? ANSWER : ANSWER_IF_MATCHED;
            emit(newKey, ts, message(instruction, version, ts, key, row), null);
        }

        private static byte[] foreignKey(byte[] data, int at) {
            int length = ByteBuffer.wrap(data, at, 4).getInt();
            return Arrays.copyOfRange(data, at + 4, at + 4 + length);
        }
    }

    /**
     * Second operator, keyed by the foreign key: side 0 are the messages, side 1 the right table.
     * In the output, k is the left key.
     */
    static final class Answer extends KeyedOperator {
        private final boolean isOuter;
        private transient MapState<byte[], byte[]> right;
        private transient MapState<byte[], Long> counts;
        private transient MapState<byte[], byte[]> subscribers;
        private transient MapState<byte[], Long> places;

        Answer(boolean isOuter) {
            this.isOuter = isOuter;
        }

        @Override
        protected void open() {
            right = bytes("right");
            counts = longs("counts");
            subscribers = bytes("subscribers");
            places = longs("places");
        }

        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            if (side == 1) {
                rightChanged(key, ts, value);
                return;
            }
            Message message = new Message(value);
            if (message.instruction >= FORGET) {
                remove(key, message.key);
                if (message.instruction == DELETE) {
                    answer(message, null, ts);
                }
                return;
            }
            if (key.length > 0) {
                put(key, message.key, value);
            }
            byte[] match = key.length == 0 ? null : right.getValue(key);
            if (match != null || message.instruction == ANSWER) {
                answer(message, match, ts);
            }
        }

        private void rightChanged(byte[] key, long ts, byte[] value) {
            if (value == null) {
                right.removeKey(key);
            } else {
                right.updateValue(
                        key, ByteBuffer.allocate(8 + value.length).putLong(ts).put(value).array());
            }
            Long count = counts.getValue(key);
            byte[] match = right.getValue(key);
            for (long n = 0; count != null && n < count; n++) {
                answer(new Message(subscribers.getValue(numbered(key, n))), match, ts);
            }
        }

        /**
         * In the output, l has the version and the left row (none: the result is a deletion), r the
         * right row.
         */
        private void answer(Message message, byte[] match, long ts) {
            boolean exists = message.row != null && (match != null || isOuter);
            long time =
                    Math.max(
                            Math.max(message.timestamp, ts),
                            match == null ? ts : ByteBuffer.wrap(match).getLong());
            int length = exists ? message.row.length : 0;
            ByteBuffer left =
                    ByteBuffer.allocate(9 + length)
                            .putLong(message.version)
                            .put((byte) (exists ? 1 : 0));
            if (exists) {
                left.put(message.row);
            }
            byte[] row =
                    exists && match != null ? Arrays.copyOfRange(match, 8, match.length) : null;
            emit(message.key, time, left.array(), row);
        }

        private void put(byte[] key, byte[] member, byte[] value) {
            byte[] at = joined(key, member);
            Long place = places.getValue(at);
            if (place == null) {
                Long count = counts.getValue(key);
                place = count == null ? 0L : count;
                places.updateValue(at, place);
                counts.updateValue(key, place + 1);
            }
            subscribers.updateValue(numbered(key, place), value);
        }

        private void remove(byte[] key, byte[] member) {
            byte[] at = joined(key, member);
            Long place = places.getValue(at);
            if (place == null) {
                return;
            }
            long last = counts.getValue(key) - 1;
            if (place != last) { // the last one takes its place
                byte[] moved = subscribers.getValue(numbered(key, last));
                subscribers.updateValue(numbered(key, place), moved);
                places.updateValue(joined(key, new Message(moved).key), place);
            }
            subscribers.removeKey(numbered(key, last));
            places.removeKey(at);
            if (last == 0) {
                counts.removeKey(key);
            } else {
                counts.updateValue(key, last);
            }
        }
    }

    /**
     * Third operator, keyed by the left table's key. The value is (version, exists?, left row,
     * right row).
     */
    static final class Latest extends KeyedOperator {
        private transient MapState<byte[], Long> versions;

        @Override
        protected void open() {
            versions = longs("versions");
        }

        /** The value is (length of the left part, left part, right row or nothing). */
        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            int length = ByteBuffer.wrap(value).getInt();
            ByteBuffer left = ByteBuffer.wrap(value, 4, length);
            long version = left.getLong();
            Long latest = versions.getValue(key);
            if (latest != null && latest > version) {
                return;
            }
            if (latest == null || latest < version) {
                versions.updateValue(key, version);
            }
            boolean exists = left.get() == 1;
            byte[] row = exists ? Arrays.copyOfRange(value, 13, 4 + length) : null;
            byte[] match =
                    exists && value.length > 4 + length
                            ? Arrays.copyOfRange(value, 4 + length, value.length)
                            : null;
            emit(key, ts, row, match);
        }
    }

    private static final class Message {
        final byte instruction;
        final long version;
        final long timestamp;
        final byte[] key;
        final byte[] row;

        Message(byte[] bytes) {
            ByteBuffer data = ByteBuffer.wrap(bytes);
            instruction = data.get();
            version = data.getLong();
            timestamp = data.getLong();
            key = new byte[data.getInt()];
            data.get(key);
            if (data.hasRemaining()) {
                row = new byte[data.remaining()];
                data.get(row);
            } else {
                row = null;
            }
        }
    }

    private static byte[] message(
            byte instruction, long version, long timestamp, byte[] key, byte[] row) {
        int length = 21 + key.length + (row == null ? 0 : row.length);
        ByteBuffer data =
                ByteBuffer.allocate(length).put(instruction).putLong(version).putLong(timestamp);
        data.putInt(key.length).put(key);
        return row == null ? data.array() : data.put(row).array();
    }

    private static byte[] joined(byte[] key, byte[] member) {
        return ByteBuffer.allocate(4 + key.length + member.length)
                .putInt(key.length)
                .put(key)
                .put(member)
                .array();
    }

    private static byte[] numbered(byte[] group, long n) {
        return ByteBuffer.allocate(group.length + 8).put(group).putLong(n).array();
    }
}
