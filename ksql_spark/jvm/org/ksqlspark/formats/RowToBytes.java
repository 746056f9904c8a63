package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A function from STRUCT to BINARY; NULL to NULL. */
public abstract class RowToBytes implements ScalarFunction<byte[]> {
    protected final StructType schema;
    private final String name;

    protected RowToBytes(String name, StructType schema) {
        this.name = name;
        this.schema = schema;
    }

    /** Spark's generated code calls this overload. */
    public abstract byte[] invoke(InternalRow row);

    @Override
    public final DataType[] inputTypes() {
        return new DataType[] {schema};
    }

    @Override
    public final DataType resultType() {
        return DataTypes.BinaryType;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final byte[] produceResult(InternalRow input) {
        return input.isNullAt(0) ? null : invoke(input.getStruct(0, schema.size()));
    }
}
