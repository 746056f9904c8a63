package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * The envelope around a row of a database that changed. It has been decoded to a struct: what
 * happened, the row after it, and both once more in a struct, where Kafka Connect puts them beside
 * a schema.
 */
public final class Envelope implements Serializable {
    private static final long serialVersionUID = 1;

    /** The name of the column that tells whether a row was deleted. */
    static final String DELETED = "__DELETED";

    /**
     * The name of the column with the numbers of the columns whose values are unavailable, since
     * the change left them as they were; NULL: all are there.
     */
    static final String UNCHANGED = "__UNCHANGED";

    private static final int OPERATION = 0;
    private static final int ROW = 1;
    private static final int PAYLOAD = 2;

    private final List<String> upserts;
    private final List<String> deletions;

    /** Null: there is no such value. */
    private final UnavailableValue unavailable;

    private final String[] names;
    private final StructType columns;

    /**
     * @param argument a JSON object: "upserts" and "deletions", the words for what happened;
     *     "unavailable", the text of an unavailable value, or null
     */
    Envelope(StructType type, String argument) {
        JsonNode given = JsonArgument.parse(argument);
        upserts = JsonArgument.texts(given.get("upserts"));
        deletions = JsonArgument.texts(given.get("deletions"));
        JsonNode text = given.path("unavailable");
        unavailable = text.isTextual() ? new UnavailableValue(text.asText()) : null;
        names = type.fieldNames();
        columns = (StructType) type.fields()[ROW].dataType();
    }

    private InternalRow inner(InternalRow envelope) {
        boolean isInside = names.length > PAYLOAD && !envelope.isNullAt(PAYLOAD);
        return isInside ? envelope.getStruct(PAYLOAD, PAYLOAD) : envelope;
    }

    private static String operation(InternalRow inner) {
        return inner.isNullAt(OPERATION) ? null : inner.getUTF8String(OPERATION).toString();
    }

    /** The row after the change, whether it was deleted, and what is unchanged; null: neither. */
    private InternalRow change(InternalRow envelope) {
        InternalRow inner = inner(envelope);
        String operation = operation(inner);
        boolean isDeletion = deletions.contains(operation);
        if (!isDeletion && !(upserts.contains(operation) && !inner.isNullAt(ROW))) {
            return null;
        }
        InternalRow row = isDeletion ? null : inner.getStruct(ROW, columns.length());
        int count = columns.length();
        Object[] values = values(row, columns, count + 2);
        values[count] = isDeletion;
        if (unavailable != null) {
            int[] unchanged =
                    IntStream.range(0, count)
                            .filter(i -> unavailable.is(values[i], columns.fields()[i].dataType()))
                            .toArray();
            for (int i : unchanged) {
                values[i] = null;
            }
            values[count + 1] =
                    unchanged.length == 0 ? null : UnsafeArrayData.fromPrimitiveArray(unchanged);
        }
        return new GenericInternalRow(values);
    }

    /** Why an envelope says nothing about a row. */
    private String reason(InternalRow envelope) {
        String operation = operation(inner(envelope));
        String member = names[OPERATION].toLowerCase(Locale.ROOT);
        if (operation == null) {
            return "It is no envelope: it has no " + member + ".";
        }
        String found = "Its " + member + " is \"" + operation + "\", ";
        return upserts.contains(operation)
                ? found + "but it has no " + names[ROW].toLowerCase(Locale.ROOT) + "."
                : found + "which tells nothing about one row.";
    }

    private static Object[] values(InternalRow row, StructType columns, int size) {
        StructField[] fields = columns.fields();
        Object[] values = new Object[size];
        for (int i = 0; row != null && i < fields.length; i++) {
            values[i] = row.isNullAt(i) ? null : row.get(i, fields[i].dataType());
        }
        return values;
    }

    /**
     * The columns of the row after a change, whether it was deleted, and which are unchanged; NULL:
     * neither a row nor a deletion.
     */
    public static final class Change extends FormatFunction<InternalRow> {
        private final Envelope envelope;

        Change(StructType type, String argument) {
            this(type, new Envelope(type, argument));
        }

        private Change(StructType type, Envelope envelope) {
            super(
                    "change",
                    envelope.columns
                            .add(DELETED, DataTypes.BooleanType)
                            .add(UNCHANGED, DataTypes.createArrayType(DataTypes.IntegerType)),
                    type);
            this.envelope = envelope;
        }

        /** Spark's generated code calls this overload. */
        public InternalRow invoke(InternalRow data) {
            return data == null ? null : envelope.change(data);
        }

        @Override
        public boolean isDeterministic() {
            return false; // computed once for all its fields, see BytesToRow
        }
    }

    /** Why there is no change in an envelope, for the processing log; NULL for NULL. */
    public static final class Explain extends FormatFunction<UTF8String> {
        private final Envelope envelope;

        Explain(StructType type, String argument) {
            super("explain_change", DataTypes.StringType, type);
            this.envelope = new Envelope(type, argument);
        }

        /** Spark's generated code calls this overload. */
        public UTF8String invoke(InternalRow data) {
            return data == null ? null : UTF8String.fromString(envelope.reason(data));
        }
    }

    /**
     * The key of a row that changed: the first fields of a struct or, where Kafka Connect puts them
     * beside a schema, those of the struct after them. NULL if one is missing: no primary key is
     * NULL.
     */
    public static final class Key extends FormatFunction<InternalRow> {
        private final StructType columns;
        private final int width;

        /**
         * @param argument a JSON array of the columns' names
         */
        Key(StructType type, String argument) {
            this(type, named(type, JsonArgument.texts(JsonArgument.parse(argument))));
        }

        private Key(StructType type, StructType columns) {
            super("change_key", columns, type);
            this.columns = columns;
            this.width = type.length();
        }

        private static StructType named(StructType type, List<String> names) {
            StructType columns = new StructType();
            for (int i = 0; i < names.size(); i++) {
                columns = columns.add(names.get(i), type.fields()[i].dataType());
            }
            return columns;
        }

        /** Spark's generated code calls this overload. */
        public InternalRow invoke(InternalRow data) {
            if (data == null) {
                return null;
            }
            int count = columns.length();
            boolean isInside = width > count && !data.isNullAt(count);
            InternalRow key = isInside ? data.getStruct(count, count) : data;
            Object[] values = values(key, columns, count);
            return Arrays.asList(values).contains(null) ? null : new GenericInternalRow(values);
        }

        @Override
        public boolean isDeterministic() {
            return false; // as that of a change
        }
    }
}
