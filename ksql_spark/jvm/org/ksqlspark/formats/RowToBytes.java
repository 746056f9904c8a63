package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** An encoder: a function from STRUCT to BINARY; NULL to NULL. */
public abstract class RowToBytes extends FormatFunction<byte[]> {
    protected final StructType schema;

    protected RowToBytes(String name, StructType schema) {
        super(name, DataTypes.BinaryType, schema);
        this.schema = schema;
    }

    /** Spark's generated code calls this overload. */
    public abstract byte[] invoke(InternalRow row);
}
