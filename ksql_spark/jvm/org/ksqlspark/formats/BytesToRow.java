package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A function from BINARY to STRUCT; NULL to NULL. */
public abstract class BytesToRow implements ScalarFunction<InternalRow> {
    /** The columns; those of Spark's type TIME are INTs in rows, see TimeField. */
    protected final StructType schema;

    private final DataType rows;
    private final String name;

    protected BytesToRow(String name, StructType schema) {
        this.name = name;
        this.schema = schema;
        this.rows = TimeField.inRows(schema);
    }

    /** Spark's generated code calls this overload. */
    public abstract InternalRow invoke(byte[] bytes);

    @Override
    public final DataType[] inputTypes() {
        return new DataType[] {DataTypes.BinaryType};
    }

    @Override
    public final DataType resultType() {
        return rows;
    }

    @Override
    public final String name() {
        return name;
    }

    /**
     * Makes Spark compute a row once and take its fields from it, and keeps filters from repeating
     * the call.
     */
    @Override
    public final boolean isDeterministic() {
        return false;
    }

    @Override
    public final InternalRow produceResult(InternalRow input) {
        return input.isNullAt(0) ? null : invoke(input.getBinary(0));
    }
}
