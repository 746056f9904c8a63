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

    /**
     * Its name has [log, query, step, message, cause], and the topic of the record that the row
     * comes from where that is known. Its arguments are whether it failed only since an operand is
     * NULL, which does not count; the row, if it is to be shown; then the record's partition and
     * offset, if they are known.
     */
    public static final class Failed extends Report {
        public Failed(String said, DataType... inputTypes) {
            super(said, inputTypes);
        }

        public boolean invoke(boolean ofNull) {
            return failed(said[4], null, null, !ofNull);
        }

        public boolean invoke(boolean ofNull, UTF8String row) {
            return failed(said[4], String.valueOf(row), null, !ofNull);
        }

        public boolean invoke(boolean ofNull, int partition, long offset) {
            return failed(said[4], null, new LogEntry.Input(said[5], partition, offset), !ofNull);
        }

        public boolean invoke(boolean ofNull, UTF8String row, int partition, long offset) {
            LogEntry.Input input = new LogEntry.Input(said[5], partition, offset);
            return failed(said[4], String.valueOf(row), input, !ofNull);
        }
    }

    /**
     * Its name has [log, query, step, message], and the topic as above. Its arguments are the
     * cause, then the record's partition and offset, if they are known.
     */
    public static final class Caused extends Report {
        public Caused(String said, DataType... inputTypes) {
            super(said, inputTypes);
        }

        public boolean invoke(UTF8String cause) {
            return failed(String.valueOf(cause), null, null, true);
        }

        public boolean invoke(UTF8String cause, int partition, long offset) {
            LogEntry.Input input = new LogEntry.Input(said[4], partition, offset);
            return failed(String.valueOf(cause), null, input, true);
        }
    }

    final boolean failed(String cause, String row, LogEntry.Input input, boolean counts) {
        ProcessingLog.of(said[0]).failed(said[1], said[2], said[3], cause, row, input, counts);
        return false;
    }
}
