package org.ksqlspark.state;

import org.ksqlspark.functions.FunctionTable;

import java.util.List;

/** Aggregates, and how rows are packed into state, by name. */
public final class AggregateFunctions {
    private AggregateFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        table.add("pack", call -> new PackedRow.Pack(call.row()));
        table.add("pack_key", call -> new PackedRow.PackKey(call.row()));
        table.add("unpack", call -> new PackedRow.Unpack(call.argument()));
        table.add(
                "collect_list",
                call ->
                        new CollectingAggregates.CollectList(
                                call.name(), call.types(), call.number()));
        table.add(
                "collect_set",
                call ->
                        new CollectingAggregates.CollectSet(
                                call.name(), call.types(), call.number()));
        table.add(
                "histogram",
                call ->
                        new CollectingAggregates.Histogram(
                                call.name(), call.types(), call.number()));
        table.add("attr", call -> new CollectingAggregates.Attr(call.name(), call.types()));
        table.add("topk", call -> top(call, false));
        table.add("topk_distinct", call -> top(call, true));
        table.add("earliest", call -> byOffset(call, false));
        table.add("latest", call -> byOffset(call, true));
        table.add("exact_sum", call -> new DecimalSum(call.types()));
        table.add("total", call -> new RetractableTotal());
        table.add("variance", call -> new RetractableStatistics(call.types()));
        table.add("correlation", call -> new RetractableStatistics(call.types()));
    }

    private static CollectingAggregates.Top top(FunctionTable.Call call, boolean isDistinct) {
        return new CollectingAggregates.Top(call.name(), call.types(), call.number(), isDistinct);
    }

    private static CollectingAggregates.ByOffset byOffset(
            FunctionTable.Call call, boolean isLatest) {
        return new CollectingAggregates.ByOffset(
                call.name(), call.types(), isLatest, List.of(call.argument().split(",")));
    }
}
