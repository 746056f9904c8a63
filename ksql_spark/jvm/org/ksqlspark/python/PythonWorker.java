package org.ksqlspark.python;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.ReadChannel;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskInterruptListener;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A Python process that runs user functions, one batch of rows after another
 * (ksql_spark/udf_worker.py describes the frames).
 *
 * <p>While a task runs, it has a worker of its own for each folder of functions; afterwards the
 * worker waits for the next task. If a task is killed, so is its worker, whatever user code is
 * doing.
 */
public final class PythonWorker {
    private static final int OPEN = 1;
    private static final int CALL = 2;

    /** If more workers than this are idle, they are ended. */
    private static final int IDLE = 4;

    private static final Map<String, Deque<PythonWorker>> FREE = new HashMap<>();

    /** By task attempt and folder. */
    private static final Map<String, PythonWorker> TAKEN = new ConcurrentHashMap<>();

    private final Process process;
    private final DataOutputStream out;
    private final DataInputStream in;
    private final BufferAllocator memory;
    private final Map<PythonFunctions.Signature, Opened> opened = new HashMap<>();
    private boolean isBroken;
    private volatile boolean isBusy;

    /** What one function needs for its batches. */
    private static final class Opened {
        int number;
        VectorSchemaRoot arguments;
        ArrowWriter writer;
        VectorSchemaRoot results;
        ColumnarBatch read;
        UnsafeProjection copy;
    }

    private PythonWorker(PythonFunctions.Located code) {
        ProcessBuilder builder = new ProcessBuilder(code.python(), "-m", "ksql_spark.udf_worker");
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment()
                .merge("PYTHONPATH", code.path(), (old, ours) -> ours + File.pathSeparator + old);
        try {
            process = builder.start();
        } catch (IOException failed) {
            throw new IllegalStateException(
                    "no Python for user functions: " + failed.getMessage(), failed);
        }
        out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream(), 1 << 16));
        in = new DataInputStream(new BufferedInputStream(process.getInputStream(), 1 << 16));
        memory = ArrowUtils.rootAllocator().newChildAllocator("user functions", 0, Long.MAX_VALUE);
    }

    /**
     * The results of a function for some rows, one row each. Calls of one task are made one at a
     * time.
     */
    static List<UnsafeRow> call(
            PythonFunctions.Signature function, List<? extends InternalRow> rows) {
        TaskContext task = TaskContext.get();
        if (task != null) {
            return ofTask(task, function).run(function, rows);
        }
        PythonWorker worker = take(function);
        try {
            return worker.run(function, rows);
        } finally {
            worker.release(function.located().folder());
        }
    }

    private static PythonWorker ofTask(TaskContext task, PythonFunctions.Signature function) {
        String folder = function.located().folder();
        String key = task.taskAttemptId() + " " + folder;
        PythonWorker found = TAKEN.get(key);
        if (found != null) {
            return found;
        }
        synchronized (TAKEN) { // a task may use a second thread
            found = TAKEN.get(key);
            if (found == null) {
                PythonWorker worker = take(function);
                TAKEN.put(key, worker);
                TaskInterruptListener killed =
                        (context, reason) -> worker.process.destroyForcibly();
                task.addTaskInterruptListener(killed);
                TaskCompletionListener ended =
                        context -> {
                            TAKEN.remove(key);
                            worker.release(folder);
                        };
                task.addTaskCompletionListener(ended);
                found = worker;
            }
        }
        return found;
    }

    private static PythonWorker take(PythonFunctions.Signature function) {
        PythonFunctions.Located code = function.located();
        synchronized (FREE) {
            Deque<PythonWorker> free = FREE.getOrDefault(code.folder(), new ArrayDeque<>());
            while (!free.isEmpty()) {
                PythonWorker worker = free.pop();
                if (worker.process.isAlive()) {
                    return worker;
                }
                worker.close();
            }
        }
        return new PythonWorker(code);
    }

    private void release(String folder) {
        boolean isLeft = isBusy;
        if (isLeft) { // a thread of a task that failed waits for user code, maybe for ever
            process.destroyForcibly();
        }
        synchronized (FREE) {
            Deque<PythonWorker> free = FREE.computeIfAbsent(folder, f -> new ArrayDeque<>());
            if (!isLeft && !isBroken && process.isAlive() && free.size() < IDLE) {
                free.push(this);
                return;
            }
        }
        close();
    }

    /** Ends the idle workers of a folder, because its server is stopping. */
    public static void end(String folder) {
        Deque<PythonWorker> free;
        synchronized (FREE) {
            free = FREE.remove(folder);
        }
        if (free != null) {
            free.forEach(PythonWorker::close);
        }
    }

    private synchronized void close() {
        process.destroy();
        try {
            if (!process.waitFor(1, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException asked) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        for (Opened function : opened.values()) {
            function.arguments.close();
            function.results.close();
        }
        opened.clear();
        memory.close();
    }

    /** One call at a time, because a task may have two threads. */
    private synchronized List<UnsafeRow> run(
            PythonFunctions.Signature function, List<? extends InternalRow> rows) {
        isBusy = true;
        try {
            Opened known = opened.get(function);
            if (known == null) {
                known = open(function);
                opened.put(function, known);
            }
            known.writer.reset();
            for (InternalRow row : rows) {
                known.writer.write(row);
            }
            known.writer.finish();
            known.arguments.setRowCount(rows.size());
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ArrowRecordBatch batch = new VectorUnloader(known.arguments).getRecordBatch()) {
                MessageSerializer.serialize(channel(bytes), batch);
            }
            out.writeInt(CALL);
            out.writeInt(4 + bytes.size());
            out.writeInt(known.number);
            bytes.writeTo(out);
            return read(known, answer());
        } catch (IOException gone) {
            isBroken = true;
            throw new IllegalStateException(
                    "the Python process of user functions ended: " + gone, gone);
        } finally {
            isBusy = false;
        }
    }

    private static List<UnsafeRow> read(Opened function, byte[] answer) throws IOException {
        ReadChannel channel =
                new ReadChannel(Channels.newChannel(new ByteArrayInputStream(answer)));
        BufferAllocator allocator = function.results.getVector(0).getAllocator();
        try (ArrowRecordBatch batch =
                MessageSerializer.deserializeRecordBatch(channel, allocator)) {
            new VectorLoader(function.results).load(batch);
        }
        function.read.setNumRows(function.results.getRowCount());
        List<UnsafeRow> results = new ArrayList<>(function.results.getRowCount());
        function.read
                .rowIterator()
                .forEachRemaining(row -> results.add(function.copy.apply(row).copy()));
        return results;
    }

    private Opened open(PythonFunctions.Signature function) throws IOException {
        Opened made = new Opened();
        made.number = opened.size();
        Schema arguments = arrow(function.arguments);
        Schema results = arrow(function.results);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(body);
        for (byte[] part :
                List.of(
                        function.located().source().getBytes(StandardCharsets.UTF_8),
                        bytes(arguments),
                        bytes(results))) {
            data.writeInt(part.length);
            data.write(part);
        }
        out.writeInt(OPEN);
        out.writeInt(body.size());
        body.writeTo(out);
        answer();
        made.arguments = VectorSchemaRoot.create(arguments, memory);
        made.writer = ArrowWriter.create(made.arguments);
        made.results = VectorSchemaRoot.create(results, memory);
        ColumnVector[] columns =
                made.results.getFieldVectors().stream()
                        .map(ArrowColumnVector::new)
                        .toArray(ColumnVector[]::new);
        made.read = new ColumnarBatch(columns);
        made.copy = UnsafeProjection.create(function.results);
        return made;
    }

    private byte[] answer() throws IOException {
        out.flush();
        int status = in.readInt();
        byte[] body = new byte[in.readInt()];
        in.readFully(body);
        if (status != 0) {
            throw new IllegalStateException(
                    "a user function cannot run: " + new String(body, StandardCharsets.UTF_8));
        }
        return body;
    }

    private static Schema arrow(StructType schema) {
        return ArrowUtils.toArrowSchema(schema, "UTC", true, false, false);
    }

    private static byte[] bytes(Schema schema) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        MessageSerializer.serialize(channel(bytes), schema);
        return bytes.toByteArray();
    }

    private static WriteChannel channel(ByteArrayOutputStream bytes) {
        return new WriteChannel(Channels.newChannel(bytes));
    }
}
