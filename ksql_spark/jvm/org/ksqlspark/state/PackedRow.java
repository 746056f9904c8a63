package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.BytesToRow;

/**
 * A struct as the bytes of Spark's own binary row, and back: how rows travel through keyed
 * operators and lie in their state without anything there knowing their columns.
 */
public final class PackedRow {
    private PackedRow() {}

    /** The row in {@code bytes}, not copied. */
    public static UnsafeRow view(byte[] bytes, int fields) {
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(bytes, bytes.length);
        return row;
    }

    /** STRUCT to BINARY; NULL stays NULL. */
    public static final class Pack implements ScalarFunction<byte[]> {
        private final StructType schema;
        private transient UnsafeProjection projection;

        public Pack(StructType schema) {
            this.schema = schema;
        }

        @Override
        public DataType[] inputTypes() {
            return new DataType[] {schema};
        }

        @Override
        public DataType resultType() {
            return DataTypes.BinaryType;
        }

        @Override
        public String name() {
            return "pack";
        }

        @Override
        public byte[] produceResult(InternalRow input) {
            return input.isNullAt(0) ? null : invoke(input.getStruct(0, schema.size()));
        }

        /** Spark calls this one from generated code. */
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

    /** BINARY to STRUCT of the schema that the function's name carries. */
    public static final class Unpack extends BytesToRow {
        public Unpack(String ddl) {
            super("unpack", StructType.fromDDL(ddl));
        }

        @Override
        public InternalRow invoke(byte[] bytes) {
            return bytes == null ? null : view(bytes, schema.size());
        }
    }
}
