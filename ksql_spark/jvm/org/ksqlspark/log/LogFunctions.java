package org.ksqlspark.log;

import org.ksqlspark.functions.FunctionTable;

/** What plans call to report errors of single records, by name. */
public final class LogFunctions {
    private LogFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        table.add("log_caused", call -> new Report.Caused(call.argument()));
        table.add(
                "log_failed",
                call ->
                        call.types().isEmpty()
                                ? new Report.Failed(call.argument())
                                : new Report.FailedRow(call.argument()));
        table.add("log_unreadable", call -> new Report.Unreadable(call.argument()));
    }
}
