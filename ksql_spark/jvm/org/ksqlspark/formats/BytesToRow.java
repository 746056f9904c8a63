package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;

/**
 * A decoder: a function from BINARY to STRUCT; NULL to NULL. A record that does not fit is NULL as
 * a whole, and {@link Explain} says why.
 */
public abstract class BytesToRow extends FormatFunction<InternalRow> {
    /** The columns; those of Spark's types TIME and VARIANT have others in rows. */
    protected final StructType schema;

    private final boolean wrapped;

    /**
     * @param ddl the columns; one that starts with "=" is a bare (unwrapped) value
     */
    protected BytesToRow(String name, String ddl) {
        this(name, StructType.fromDDL(ddl.startsWith("=") ? ddl.substring(1) : ddl), ddl);
    }

    private BytesToRow(String name, StructType schema, String ddl) {
        super(name, ColumnValues.inRows(schema), DataTypes.BinaryType);
        this.schema = schema;
        this.wrapped = !ddl.startsWith("=");
    }

    /** The type of what is read: a row, or its only column. */
    final DataType type() {
        return wrapped ? schema : schema.fields()[0].dataType();
    }

    /** What was read as a row. */
    final InternalRow row(Object value) {
        return wrapped ? (InternalRow) value : new GenericInternalRow(new Object[] {value});
    }

    /** Reads a record; throws if it does not fit. */
    protected abstract InternalRow decode(byte[] data) throws IOException;

    /** Why a record is NULL. */
    String reason(byte[] data) {
        try {
            return decode(data) == null ? "It is null." : "Nothing is wrong with it.";
        } catch (IOException | RuntimeException bad) {
            return String.valueOf(bad.getMessage());
        } catch (StackOverflowError bad) {
            return "Its schema is nested too deeply.";
        }
    }

    /** Spark's generated code calls this overload; it looks for it in a function's own class. */
    public abstract InternalRow invoke(byte[] data);

    /** What was decoded; NULL if the record does not fit. */
    final InternalRow orNull(byte[] data) {
        if (data == null) {
            return null;
        }
        try {
            return decode(data);
        } catch (IOException | RuntimeException | StackOverflowError bad) {
            return null;
        }
    }

    /**
     * Makes Spark compute a row once and take its fields from it, and keeps filters from repeating
     * the call.
     */
    @Override
    public final boolean isDeterministic() {
        return false;
    }

    /** Why a record is NULL, for the processing log: by reading it once more. */
    public static final class Explain extends FormatFunction<UTF8String> {
        private final BytesToRow decoder;

        public Explain(BytesToRow decoder) {
            super("explain", DataTypes.StringType, DataTypes.BinaryType);
            this.decoder = decoder;
        }

        public UTF8String invoke(byte[] data) {
            return data == null ? null : UTF8String.fromString(decoder.reason(data));
        }
    }
}
