package org.ksqlspark.log;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.ksqlspark.functions.FunctionTable;

import java.util.Arrays;

/** What plans call to report errors of single records, by name. */
public final class LogFunctions {
    private LogFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        table.add("log_caused", call -> new Report.Caused(call.argument(), types(call)));
        table.add("log_failed", call -> new Report.Failed(call.argument(), types(call)));
        table.add("log_unreadable", call -> new Report.Unreadable(call.argument()));
    }

    private static DataType[] types(FunctionTable.Call call) {
        return Arrays.stream(call.types().fields())
                .map(StructField::dataType)
                .toArray(DataType[]::new);
    }
}
