package org.ksqlspark.python;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.log.FunctionFailures;
import org.ksqlspark.state.KeyedOperator;
import org.ksqlspark.state.StateLayout;

import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * User functions in Python as functions of Spark: {@code ksql.`python:{…}`(…)}. The JSON text
 * contains the function's file or module, its kind and the type of its result
 * (ksql_spark/functions/user.py writes it).
 *
 * <p>Called in this way, a function gets one row at a time, whenever Catalyst evaluates the
 * expression; PythonBatches passes many rows at once. A row for which a function fails gives NULL,
 * an entry in the processing log (in PythonBatches, its caller writes that) and a line in Spark's
 * log.
 */
public final class PythonFunctions {
    private static final ObjectMapper JSON = new ObjectMapper();

    private PythonFunctions() {}

    /**
     * Where the code of a function is.
     *
     * @param python the interpreter
     * @param path the folder of our package
     * @param folder that of the server's functions
     * @param source the JSON text, with these places
     */
    record Located(String python, String path, String folder, String source) {}

    /** A function and the types it is called with: everything that a worker needs. */
    static final class Signature implements Serializable {
        final String source;
        private final String folder;
        private final String python;
        private final String path;

        /** What executors get of it; null where all tasks run beside the server. */
        private final FunctionCode code;

        private transient volatile Located located;
        final String name;
        final boolean isAggregate;
        final boolean isDeterministic;
        final DataType returned;
        final StructType arguments;
        final StructType results;

        /**
         * The processing log and the query of the session in which the function was bound; empty if
         * none.
         */
        final String log;

        final String query;

        /**
         * @param given types of the arguments, including an aggregate's sign
         */
        Signature(String json, StructType given) {
            JsonNode node;
            try {
                node = JSON.readTree(json);
            } catch (IOException bad) {
                throw new IllegalArgumentException("no user function: " + json, bad);
            }
            source = json;
            folder = node.get("folder").asText();
            python = node.get("python").asText();
            path = node.get("path").asText();
            JsonNode archive = node.get("archive");
            code = archive == null ? null : FunctionCode.read(archive.asText());
            name = node.get("name").asText();
            isAggregate = node.get("kind").asText().equals("AGGREGATE");
            isDeterministic = node.get("deterministic").asBoolean();
            returned = DataType.fromDDL(node.get("returns").asText());
            StructType types = new StructType();
            StructType made = new StructType();
            int count = given.size();
            if (isAggregate) {
                types =
                        types.add("op", DataTypes.IntegerType)
                                .add("state", DataTypes.BinaryType)
                                .add("other", DataTypes.BinaryType);
                made = made.add("state", DataTypes.BinaryType);
                count = node.get("parameters").asInt();
            }
            for (int i = 0; i < count; i++) {
                types = types.add("c" + i, given.fields()[i].dataType());
            }
            arguments = types;
            results = made.add("value", returned).add("error", DataTypes.StringType);
            log = SQLConf.get().getConfString(KeyedOperator.LOG, "");
            query = SQLConf.get().getConfString(KeyedOperator.QUERY, "");
        }

        /** Where this JVM finds it. */
        Located located() {
            Located found = located;
            if (found == null) {
                boolean isMoved = code != null && FunctionCode.isFar();
                located =
                        found =
                                isMoved
                                        ? movedTo(code.root())
                                        : new Located(python, path, folder, source);
            }
            return found;
        }

        /** Where an executor finds it that has unpacked its code to a folder. */
        private Located movedTo(Path root) {
            ObjectNode moved;
            try {
                moved = (ObjectNode) JSON.readTree(source);
            } catch (IOException bad) {
                throw new IllegalStateException(bad);
            }
            for (String place : List.of("folder", "file")) {
                if (moved.has(place)) {
                    String there = FunctionCode.below(root, moved.get(place).asText()).toString();
                    moved.put(place, there);
                }
            }
            String own = new File(python).canExecute() ? python : "python3";
            return new Located(
                    SparkEnv.get().conf().get("spark.pyspark.python", own),
                    FunctionCode.below(root, path).toString(),
                    moved.get("folder").asText(),
                    moved.toString());
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Signature that
                    && source.equals(that.source)
                    && arguments.equals(that.arguments);
        }

        @Override
        public int hashCode() {
            return Objects.hash(source, arguments);
        }

        /** Writes a row's failure to Spark's log, if it failed. */
        void note(UnsafeRow result) {
            String error = error(result);
            if (error != null) {
                FunctionFailures.note(name, error);
            }
        }

        /** Writes it to the processing log too. */
        void report(UnsafeRow result) {
            String error = error(result);
            if (error != null) {
                FunctionFailures.report(log, query, name, error);
            }
        }

        private String error(UnsafeRow result) {
            int last = results.size() - 1;
            return result.isNullAt(last) ? null : result.getUTF8String(last).toString();
        }
    }

    public static BoundFunction bind(String json, StructType given) {
        Signature signature = new Signature(json, given);
        return signature.isAggregate
                ? new Aggregate(signature, given)
                : new Scalar(signature, given);
    }

    /** A function with the types it is called with. */
    private abstract static class Call implements BoundFunction {
        protected final Signature signature;
        protected final StructType given;

        Call(Signature signature, StructType given) {
            this.signature = signature;
            this.given = given;
        }

        @Override
        public DataType[] inputTypes() {
            return Arrays.stream(given.fields())
                    .map(field -> field.dataType())
                    .toArray(DataType[]::new);
        }

        @Override
        public DataType resultType() {
            return signature.returned;
        }

        @Override
        public String name() {
            return signature.name;
        }

        @Override
        public int hashCode() {
            return signature.hashCode();
        }
    }

    /** A scalar function, or a table function, whose value is an array of rows. */
    private static final class Scalar extends Call implements ScalarFunction<Object> {
        Scalar(Signature signature, StructType given) {
            super(signature, given);
        }

        @Override
        public boolean isDeterministic() {
            return signature.isDeterministic;
        }

        @Override
        public String canonicalName() {
            return "ksql.python:" + signature.source;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Scalar that && signature.equals(that.signature);
        }

        @Override
        public Object produceResult(InternalRow input) {
            UnsafeRow result = PythonWorker.call(signature, List.of(input)).get(0);
            signature.report(result);
            return result.isNullAt(0) ? null : result.get(0, signature.returned);
        }
    }

    /** A group: its state in Python, and its value while that is known. */
    static final class State implements Serializable {
        byte[] kept;
        transient boolean isKnown;
        transient Object value;
    }

    /**
     * An aggregate of (arguments…) or, over tables, (arguments…, sign). Stored: whether there is a
     * state (a byte, 0 or 1), and the state.
     */
    private static final class Aggregate extends Call
            implements AggregateFunction<State, Object>, StateLayout<State> {
        private static final int AGGREGATE = 0;
        private static final int UNDO = 1;
        private static final int MERGE = 2;
        private static final int RESULT = 3;

        /** Columns before the arguments: op, state, other. */
        private static final int BEFORE = 3;

        Aggregate(Signature signature, StructType given) {
            super(signature, given);
        }

        @Override
        public String canonicalName() {
            return "ksql.python:" + signature.source + given.size();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Aggregate that
                    && signature.equals(that.signature)
                    && given.equals(that.given);
        }

        @Override
        public State newAggregationState() {
            return new State();
        }

        @Override
        public State update(State state, InternalRow input) {
            int count = signature.arguments.size() - BEFORE;
            boolean isUndo = given.size() > count && input.getInt(count) < 0;
            return ask(isUndo ? UNDO : AGGREGATE, state, null, input);
        }

        @Override
        public State merge(State state, State other) {
            if (state.kept == null && !state.isKnown) {
                return other; // a batch merges every group into an empty one; that needs no Python
            }
            return ask(MERGE, state, other.kept, null);
        }

        @Override
        public Object produceResult(State state) {
            if (!state.isKnown) {
                ask(RESULT, state, null, null);
            }
            return state.value;
        }

        @Override
        public void write(State state, DataOutputStream out) throws IOException {
            StateLayout.writeBytes(state.kept, out);
        }

        @Override
        public State read(ByteBuffer in) {
            State state = new State();
            state.kept = StateLayout.readBytes(in);
            return state;
        }

        private State ask(int op, State state, byte[] other, InternalRow input) {
            Object[] values = new Object[signature.arguments.size()];
            values[0] = op;
            values[1] = state.kept;
            values[2] = other;
            for (int i = BEFORE; input != null && i < values.length; i++) {
                DataType type = signature.arguments.fields()[i].dataType();
                values[i] = input.isNullAt(i - BEFORE) ? null : input.get(i - BEFORE, type);
            }
            UnsafeRow result =
                    PythonWorker.call(signature, List.of(new GenericInternalRow(values))).get(0);
            signature.report(result);
            state.kept = result.isNullAt(0) ? null : result.getBinary(0);
            state.value = result.isNullAt(1) ? null : result.get(1, signature.returned);
            state.isKnown = true;
            return state;
        }
    }
}
