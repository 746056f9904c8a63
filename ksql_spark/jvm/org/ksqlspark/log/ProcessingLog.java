package org.ksqlspark.log;

import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

/**
 * The processing log of one server (reference §5.8): errors of single records, counted by query and
 * written to a topic as JSON. No query waits for the log or fails because of it, see {@link
 * LogWriter}. Counts include entries that it drops.
 */
public final class ProcessingLog {
    private static final Map<String, ProcessingLog> LOGS = new ConcurrentHashMap<>();

    private final Map<String, ErrorCounter> counters = new ConcurrentHashMap<>();
    private final Set<String> muted = ConcurrentHashMap.newKeySet();

    /** Null: entries go nowhere. */
    private volatile LogWriter writer;

    /** Entries that were gathered; null: they are not gathered. */
    private volatile Queue<String> gathered;

    /** Where entries go, without what is muted; null: nowhere. */
    private volatile LogTarget target;

    private ProcessingLog() {}

    // ---- for Python ----

    /**
     * Writes entries of the log {@code name} to a topic from now on.
     *
     * @param producer settings of the Kafka client
     * @param lateRows the most late rows of a query and step in a second; 0: they are only counted
     */
    public static void open(String name, String topic, Map<String, String> producer, int lateRows) {
        ProcessingLog log = of(name);
        log.target = new LogTarget(topic, Map.copyOf(producer), Set.of(), lateRows);
        log.writer = LogWriter.to(log.target);
    }

    /** Gathers the entries of the log {@code name} from now on, for the caller to write. */
    public static void gather(String name) {
        of(name).gathered = new ConcurrentLinkedQueue<>();
    }

    /** The entries that were gathered since the last call. */
    public static List<String> gathered(String name) {
        List<String> found = new ArrayList<>();
        Queue<String> queue = of(name).gathered;
        for (String entry = queue.poll(); entry != null; entry = queue.poll()) {
            found.add(entry);
        }
        return found;
    }

    /** Writes the queued entries, for a few seconds at most, and removes the log. */
    public static void close(String name) throws InterruptedException {
        ProcessingLog log = LOGS.remove(name);
        LogWriter writer = log == null ? null : log.writer;
        if (writer != null) {
            writer.close();
        }
    }

    /** Only counts the errors of a query that reads the log, which would otherwise feed itself. */
    public static void mute(String name, String query) {
        of(name).muted.add(query);
    }

    /**
     * Errors of a query since the server started: records that could not be read, records that
     * failed otherwise, late records, records that were gone before they were read, and the time of
     * the last of all but the late ones in ms (0: none).
     */
    public static long[] counts(String name, String query) {
        ErrorCounter counter = of(name).counters.get(query);
        if (counter == null) {
            return new long[5];
        }
        ErrorCounts found = counter.counts();
        return new long[] {
            found.unreadable(), found.failed(), found.late(), found.lost(), found.lastMs()
        };
    }

    /**
     * Grace periods, ms, each followed by the number of a query's late records for which it would
     * have been just enough.
     */
    public static long[] graces(String name, String query) {
        ErrorCounter counter = of(name).counters.get(query);
        return Graces.table(counter == null ? Map.of() : counter.counts().graces());
    }

    /** A query has failed. */
    public static void queryFailed(String name, String query, String reason) {
        of(name).add(
                        query,
                        "",
                        LogEntry.Type.THREAD,
                        json -> {
                            json.writeStringField("errorMessage", reason);
                            json.writeStringField("threadName", query);
                            LogEntry.causes(json, null);
                        });
    }

    // ---- for JVMs that tell each other ----

    /** Where the entries of all logs that are written go, by name. */
    public static Map<String, LogTarget> targets() {
        Map<String, LogTarget> found = new HashMap<>();
        LOGS.forEach(
                (name, log) -> {
                    LogTarget to = log.target;
                    if (to != null) {
                        Set<String> muted = Set.copyOf(log.muted);
                        found.put(
                                name,
                                new LogTarget(to.topic(), to.producer(), muted, to.lateRows()));
                    }
                });
        return found;
    }

    /** Opens the logs that another JVM has opened, and closes the others. */
    public static void follow(Map<String, LogTarget> targets) throws InterruptedException {
        for (Map.Entry<String, ProcessingLog> own : LOGS.entrySet()) {
            if (own.getValue().target != null && !targets.containsKey(own.getKey())) {
                close(own.getKey());
            }
        }
        targets.forEach(
                (name, target) -> {
                    ProcessingLog log = of(name);
                    log.muted.addAll(target.muted());
                    if (log.target == null) {
                        open(name, target.topic(), target.producer(), target.lateRows());
                    }
                });
    }

    /** Takes all counts that are not 0, by log and query: they begin at 0 again. */
    public static Map<String, Map<String, ErrorCounts>> takeCounts() {
        Map<String, Map<String, ErrorCounts>> found = new HashMap<>();
        LOGS.forEach(
                (name, log) ->
                        log.counters.forEach(
                                (query, counter) -> {
                                    ErrorCounts taken = counter.take();
                                    if (taken.any()) {
                                        found.computeIfAbsent(name, n -> new HashMap<>())
                                                .put(query, taken);
                                    }
                                }));
        return found;
    }

    /** Adds what another JVM has counted, by query. */
    public static void count(String name, Map<String, ErrorCounts> found) {
        found.forEach((query, more) -> of(name).counter(query).add(more));
    }

    // ---- for operators and functions ----

    public static ProcessingLog of(String name) {
        return LOGS.computeIfAbsent(name, n -> new ProcessingLog());
    }

    /**
     * A record came too late to be used.
     *
     * @param grace see LateRow.Lateness
     */
    public void late(String query, Long grace) {
        counter(query).late(grace);
    }

    /** The same; an entry shows it. */
    public void late(String query, String step, Long grace, Supplier<LateRow> row) {
        late(query, grace);
        LogWriter to = writer;
        LogTarget where = target;
        if (to != null && where.lateRows() > 0 && !muted.contains(query)) {
            String name = "processing." + query + ".Late." + step;
            to.add(
                    name,
                    () -> new Allowance(where.lateRows(), LogEntry::lateLeftOut),
                    () -> LogEntry.late(name, row.get()));
        }
    }

    /**
     * Records of a topic were gone before they were read; {@code count}: 0 where it is not known.
     */
    public void lost(String query, String topic, String message, long count) {
        counter(query).lost(count);
        add(
                query,
                "." + topic,
                LogEntry.Type.PROCESSING,
                json -> {
                    json.writeStringField("errorMessage", message);
                    json.writeNullField("record");
                    LogEntry.causes(json, null);
                });
    }

    /** The key, the value or the timestamp ({@code target}) of a record cannot be read. */
    public void unreadable(
            String query,
            String step,
            String target,
            String topic,
            String reason,
            byte[] record,
            int partition,
            long offset) {
        counter(query).unreadable();
        add(
                query,
                "." + step,
                LogEntry.Type.DESERIALIZATION,
                json -> {
                    json.writeStringField("target", target);
                    json.writeStringField(
                            "errorMessage", "The " + target + " of a record cannot be read.");
                    json.writeStringField(
                            "recordB64",
                            record == null ? null : Base64.getEncoder().encodeToString(record));
                    LogEntry.causes(json, reason);
                    json.writeStringField("topic", topic);
                    json.writeNumberField("partition", partition);
                    json.writeNumberField("offset", offset);
                });
    }

    /** A row could not be computed; {@code record}: the row as JSON, or null. */
    public void failed(String query, String step, String message, String cause, String record) {
        failed(query, step, message, cause, record, null, true);
    }

    /**
     * As above.
     *
     * @param input the record that the row comes from; null where it is not known
     * @param counts whether the query's errors include it
     */
    void failed(
            String query,
            String step,
            String message,
            String cause,
            String record,
            LogEntry.Input input,
            boolean counts) {
        if (counts) {
            counter(query).failed();
        }
        add(
                query,
                "." + step,
                LogEntry.Type.PROCESSING,
                json -> {
                    json.writeStringField("errorMessage", message);
                    json.writeStringField("record", record);
                    LogEntry.causes(json, cause);
                },
                input);
    }

    /** The key or the value ({@code target}) of a record cannot be written to a topic. */
    public void unwritable(String query, String step, String target, String topic, String reason) {
        counter(query).failed();
        add(
                query,
                "." + step,
                LogEntry.Type.SERIALIZATION,
                json -> {
                    json.writeStringField("target", target);
                    json.writeStringField(
                            "errorMessage",
                            "The " + target + " of a record cannot be written: " + reason);
                    json.writeNullField("record");
                    LogEntry.causes(json, reason);
                    json.writeStringField("topic", topic);
                });
    }

    private ErrorCounter counter(String query) {
        return counters.computeIfAbsent(query, q -> new ErrorCounter());
    }

    private void add(String query, String logger, LogEntry.Type type, LogEntry.Body body) {
        add(query, logger, type, body, null);
    }

    private void add(
            String query,
            String logger,
            LogEntry.Type type,
            LogEntry.Body body,
            LogEntry.Input input) {
        LogWriter to = writer;
        Queue<String> kept = gathered;
        String name = "processing." + query + logger;
        if (kept != null) {
            kept.add(LogEntry.of(name, "ERROR", type, body, input));
        } else if (to != null && !muted.contains(query)) {
            to.add(name, () -> LogEntry.of(name, "ERROR", type, body, input));
        }
    }
}
