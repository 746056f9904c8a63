package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.BytesToRow;
import org.ksqlspark.formats.RowToBytes;

/**
 * A struct as the bytes of Spark's binary row, and back. Rows pass through keyed operators and
 * their state in this form, so that operators need not know columns.
 */
public final class PackedRow {
    private PackedRow() {}

    /** The row in {@code bytes}, without a copy. */
    public static UnsafeRow view(byte[] bytes, int fields) {
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(bytes, bytes.length);
        return row;
    }

    /** STRUCT to BINARY; NULL to NULL. */
    public static class Pack extends RowToBytes {
        private transient UnsafeProjection projection;

        public Pack(StructType schema) {
            this("pack", schema);
        }

        private Pack(String name, StructType schema) {
            super(name, schema);
        }

        @Override
        public byte[] invoke(InternalRow row) {
            if (row == null) {
                return null;
            }
            if (row instanceof UnsafeRow) {
                return ((UnsafeRow) row).getBytes();
            }
            if (projection == null) {
                projection = UnsafeProjection.create(schema);
            }
            return projection.apply(row).getBytes();
        }
    }

    /** As Pack, and equal structs give equal bytes: zeros have no sign, and there is one NaN. */
    public static final class PackKey extends Pack {
        private final boolean differs;

        public PackKey(StructType schema) {
            super("pack_key", schema);
            differs = EqualForm.differs(schema);
        }

        @Override
        public byte[] invoke(InternalRow row) {
            return super.invoke(
                    row == null || !differs ? row : (InternalRow) EqualForm.of(row, schema));
        }
    }

    /**
     * BINARY to a STRUCT of the schema in the function's name; NULL and no bytes, the key of a
     * record without one, to NULL.
     */
    public static final class Unpack extends BytesToRow {
        public Unpack(String ddl) {
            super("unpack", ddl);
        }

        @Override
        public InternalRow invoke(byte[] bytes) {
            return bytes == null ? null : decode(bytes);
        }

        @Override
        protected InternalRow decode(byte[] bytes) {
            // a view of no bytes would show what is behind them in memory
            return bytes.length == 0 ? null : view(bytes, schema.size());
        }
    }
}
