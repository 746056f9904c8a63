package org.ksqlspark.python;

import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.ksqlspark.state.PackedRow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Calls user functions for many rows at once: all rows that have arrived meanwhile. No row waits
 * for the next one. (Spark's own operator fills a batch before it sends it, which in real time may
 * take forever.)
 *
 * <p>In: (v BINARY, c0 BINARY, c1 …), all PackedRow bytes: the row to pass through, and the
 * arguments of each call. Out: (v BINARY, r0 BINARY, r1 …): the row, and for each call its result
 * (value, error).
 */
public final class PythonBatches {
    private static final int LARGEST = 1000;

    private PythonBatches() {}

    /**
     * @param functions for each call, the JSON text that is its function's name in SQL text
     * @param arguments for each call, the types of its arguments as DDL
     */
    public static Dataset<Row> apply(
            Dataset<Row> input, List<String> functions, List<String> arguments) {
        List<PythonFunctions.Signature> calls = new ArrayList<>();
        StructType output = new StructType().add("v", DataTypes.BinaryType);
        for (int i = 0; i < functions.size(); i++) {
            calls.add(
                    new PythonFunctions.Signature(
                            functions.get(i), StructType.fromDDL(arguments.get(i))));
            output = output.add("r" + i, DataTypes.BinaryType);
        }
        MapPartitionsFunction<Row, Row> evaluate = rows -> new Results(rows, calls);
        return input.mapPartitions(evaluate, Encoders.row(output));
    }

    /**
     * Results in the order of the rows; a second thread waits for rows while others are processed.
     */
    private static final class Results implements Iterator<Row>, Runnable {
        private static final Object END = new Object();

        private final Iterator<Row> rows;
        private final List<PythonFunctions.Signature> calls;
        private final BlockingQueue<Object> queue = new ArrayBlockingQueue<>(4 * LARGEST);
        private final Deque<Row> ready = new ArrayDeque<>();
        private final TaskContext task = TaskContext.get();
        private final Thread reader;
        private boolean isEnded;

        Results(Iterator<Row> rows, List<PythonFunctions.Signature> calls) {
            this.rows = rows;
            this.calls = calls;
            reader = new Thread(this, "rows for user functions");
            reader.setDaemon(true);
            reader.setContextClassLoader(Thread.currentThread().getContextClassLoader());
            if (task != null) {
                TaskCompletionListener ended = context -> end();
                task.addTaskCompletionListener(ended);
            }
            reader.start();
        }

        @Override
        public void run() {
            TaskContext$.MODULE$.setTaskContext(task);
            try {
                while (rows.hasNext()) {
                    queue.put(rows.next());
                }
                queue.put(END);
            } catch (InterruptedException ended) {
                // the task is over; nobody asks for more
            } catch (Throwable failure) {
                queue.clear();
                queue.offer(new Failure(failure));
            } finally {
                TaskContext$.MODULE$.unset();
            }
        }

        private record Failure(Throwable cause) {}

        private void end() {
            try {
                reader.interrupt();
                reader.join(TimeUnit.SECONDS.toMillis(10));
            } catch (InterruptedException asked) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public boolean hasNext() {
            while (ready.isEmpty() && !isEnded) {
                fill();
            }
            return !ready.isEmpty();
        }

        @Override
        public Row next() {
            return ready.pop();
        }

        private void fill() {
            List<Object> taken = new ArrayList<>();
            try {
                taken.add(queue.take());
            } catch (InterruptedException asked) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("the task was ended", asked);
            }
            queue.drainTo(taken, LARGEST - 1);
            Object last = taken.get(taken.size() - 1);
            if (last instanceof Failure failure) {
                throw new IllegalStateException(failure.cause());
            }
            if (last == END) {
                isEnded = true;
                taken.remove(taken.size() - 1);
            }
            if (!taken.isEmpty()) {
                evaluate(taken);
            }
        }

        private void evaluate(List<Object> taken) {
            Object[][] results = new Object[taken.size()][calls.size() + 1];
            for (int i = 0; i < taken.size(); i++) {
                results[i][0] = ((Row) taken.get(i)).get(0);
            }
            for (int c = 0; c < calls.size(); c++) {
                PythonFunctions.Signature call = calls.get(c);
                List<UnsafeRow> arguments = new ArrayList<>(taken.size());
                for (Object row : taken) {
                    arguments.add(
                            PackedRow.view((byte[]) ((Row) row).get(c + 1), call.arguments.size()));
                }
                List<UnsafeRow> made = PythonWorker.call(call, arguments);
                for (int i = 0; i < made.size(); i++) {
                    call.note(made.get(i));
                    results[i][c + 1] = made.get(i).getBytes();
                }
            }
            for (Object[] values : results) {
                ready.add(RowFactory.create(values));
            }
        }
    }
}
