package org.ksqlspark.extension;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.functions.FunctionTable;
import org.ksqlspark.state.StateLayout;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Functions in jars as functions of Spark. {@code ksql.`jar:{…}`(…)} is NULL for a row for which
 * the function fails, and writes to the processing log; {@code ksql.`jar_outcome:{…}`(…)} returns
 * (value, error), and its caller writes that.
 */
public final class JarFunctions {
    private JarFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        table.add(
                "jar",
                call -> {
                    JarCall bound = new JarCall(call.argument(), call.types());
                    return bound.isAggregate() ? new Aggregate(bound) : new Scalar(bound);
                });
        table.add("jar_outcome", call -> new Outcome(new JarCall(call.argument(), call.types())));
    }

    private abstract static class Bound implements BoundFunction {
        protected final JarCall call;

        Bound(JarCall call) {
            this.call = call;
        }

        @Override
        public DataType[] inputTypes() {
            return Arrays.stream(call.given.fields())
                    .map(field -> field.dataType())
                    .toArray(DataType[]::new);
        }

        @Override
        public DataType resultType() {
            return call.returned;
        }

        @Override
        public String name() {
            return call.name;
        }

        @Override
        public String canonicalName() {
            return "ksql." + getClass().getSimpleName() + ":" + call.source + call.given.size();
        }

        @Override
        public boolean equals(Object other) {
            return other != null
                    && other.getClass() == getClass()
                    && call.equals(((Bound) other).call);
        }

        @Override
        public int hashCode() {
            return call.hashCode();
        }
    }

    /** A scalar function, or a table function, whose value is an array of rows. */
    private static class Scalar extends Bound implements ScalarFunction<Object> {
        private transient ScalarCall opened;

        Scalar(JarCall call) {
            super(call);
        }

        @Override
        public boolean isDeterministic() {
            return call.isDeterministic();
        }

        protected Object value(InternalRow input) throws Throwable {
            if (opened == null) {
                opened = new ScalarCall(call);
            }
            return opened.call(input);
        }

        @Override
        public Object produceResult(InternalRow input) {
            try {
                return value(input);
            } catch (Throwable failure) {
                endIfFatal(failure);
                call.report(failure);
                return null;
            }
        }
    }

    /** As Scalar, with the reason if it fails. */
    private static final class Outcome extends Scalar {
        Outcome(JarCall call) {
            super(call);
        }

        /** Or Spark may call it once for the value and once for the error. */
        @Override
        public boolean isDeterministic() {
            return false;
        }

        @Override
        public DataType resultType() {
            return new StructType().add("value", call.returned).add("error", DataTypes.StringType);
        }

        @Override
        public Object produceResult(InternalRow input) {
            Object[] outcome = new Object[2];
            try {
                outcome[0] = value(input);
            } catch (Throwable failure) {
                endIfFatal(failure);
                String error = JarMethod.because(failure);
                call.note(error);
                outcome[1] = UTF8String.fromString(error);
            }
            return new GenericInternalRow(outcome);
        }
    }

    /** What ends the task, not a row: a task that was killed, a JVM without memory. */
    private static void endIfFatal(Throwable failure) {
        if (failure instanceof InterruptedException) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the task was ended", failure);
        }
        if (failure instanceof VirtualMachineError error
                && !(failure instanceof StackOverflowError)) {
            throw error;
        }
    }

    /** A group: its state as bytes (null: there is none yet), and as the function has it. */
    static final class State implements Serializable {
        byte[] kept;
        transient boolean isLive;
        transient Object live;
    }

    /**
     * An aggregate of (arguments…) or, over tables, (arguments…, sign). Stored: whether there is a
     * state (a byte, 0 or 1), and the state, a row with one column. A call that fails leaves the
     * state as it was.
     */
    private static final class Aggregate extends Bound
            implements AggregateFunction<State, Object>, StateLayout<State> {
        private transient AggregateCall opened;

        Aggregate(JarCall call) {
            super(call);
        }

        /** Names the type of the state too: state that has another one is not read. */
        @Override
        public String name() {
            return call.name + " of " + call.code().get("stored").asText();
        }

        private AggregateCall opened() {
            if (opened == null) {
                opened = new AggregateCall(call);
            }
            return opened;
        }

        @Override
        public State newAggregationState() {
            return new State();
        }

        @Override
        public State update(State state, InternalRow input) {
            int count = call.code().get("types").size();
            boolean isUndo = call.given.size() > count && input.getInt(count) < 0;
            return changed(state, () -> opened().change(live(state), input, isUndo));
        }

        @Override
        public State merge(State state, State other) {
            if (state.kept == null) {
                return other; // a batch merges every group into an empty one
            }
            if (other.kept == null) {
                return state;
            }
            return changed(state, () -> opened().merge(live(state), live(other)));
        }

        @Override
        public Object produceResult(State state) {
            try {
                return opened().result(live(state));
            } catch (Throwable failure) {
                endIfFatal(failure);
                call.report(failure);
                return null;
            }
        }

        /** A change of a state. */
        @FunctionalInterface
        private interface Change {
            Object make();
        }

        private State changed(State state, Change change) {
            try {
                Object changed = change.make();
                state.kept = opened().encode(changed);
                state.live = changed;
                state.isLive = true;
            } catch (Throwable failure) {
                endIfFatal(failure);
                state.isLive = false; // what failed may have changed half of it
                state.live = null;
                call.report(failure);
            }
            return state;
        }

        private Object live(State state) {
            if (!state.isLive) {
                state.live =
                        state.kept == null ? opened().initialize() : opened().decode(state.kept);
                state.isLive = true;
            }
            return state.live;
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
    }
}
