package org.ksqlspark.log;

import com.fasterxml.jackson.databind.json.JsonMapper;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;

/**
 * A condition that is always false and logs why it was evaluated; it is never constant-folded or
 * evaluated twice.
 *
 * <p>The constant parts of an entry are in the function's name, as a JSON array, so that a call is
 * small: code that rarely runs must not make the code around it too long to be compiled.
 */
public abstract class Report implements ScalarFunction<Boolean> {
    private static final JsonMapper JSON = new JsonMapper();

    private final DataType[] inputTypes;
    final String[] said;

    Report(String said, DataType... inputTypes) {
        this.inputTypes = inputTypes;
        try {
            this.said = JSON.readValue(said, String[].class);
        } catch (IOException bad) {
            throw new IllegalArgumentException(said, bad);
        }
    }

    @Override
    public DataType[] inputTypes() {
        return inputTypes;
    }

    @Override
    public DataType resultType() {
        return DataTypes.BooleanType;
    }

    @Override
    public boolean isResultNullable() {
        return false;
    }

    @Override
    public boolean isDeterministic() {
        return false;
    }

    @Override
    public String name() {
        return getClass().getSimpleName();
    }

    /**
     * Its name has [log, query, step, "key" or "value", topic]; its arguments are (cause, the
     * record's bytes or NULL).
     */
    public static final class Unreadable extends Report {
        public Unreadable(String said) {
            super(
                    said,
                    DataTypes.StringType,
                    DataTypes.BinaryType,
                    DataTypes.IntegerType,
                    DataTypes.LongType);
        }

        public boolean invoke(UTF8String cause, byte[] record, int partition, long offset) {
            String why = String.valueOf(cause);
            ProcessingLog.of(said[0])
                    .unreadable(said[1], said[2], said[3], said[4], why, record, partition, offset);
            return false;
        }
    }

    /** Its name has [log, query, step, message, cause]. */
    public static final class Failed extends Report {
        public Failed(String said) {
            super(said);
        }

        public boolean invoke() {
            ProcessingLog.of(said[0]).failed(said[1], said[2], said[3], said[4], null);
            return false;
        }
    }

    /** Its name has [log, query, step, message]; its argument is the cause. */
    public static final class Caused extends Report {
        public Caused(String said) {
            super(said, DataTypes.StringType);
        }

        public boolean invoke(UTF8String cause) {
            String why = String.valueOf(cause);
            ProcessingLog.of(said[0]).failed(said[1], said[2], said[3], why, null);
            return false;
        }
    }

    /** Its name is as for Failed; its argument is the row. */
    public static final class FailedRow extends Report {
        public FailedRow(String said) {
            super(said, DataTypes.StringType);
        }

        public boolean invoke(UTF8String record) {
            String row = String.valueOf(record);
            ProcessingLog.of(said[0]).failed(said[1], said[2], said[3], said[4], row);
            return false;
        }
    }
}
