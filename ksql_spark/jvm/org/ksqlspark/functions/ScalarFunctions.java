package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataTypes;
import org.ksqlspark.functions.JsonFunctions.Extract.Form;

/** The functions of this package by name. */
public final class ScalarFunctions {
    private ScalarFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        addTexts(table);
        addTimes(table);
        addJson(table);
        addVariants(table);
        addNumbers(table);
        addCollections(table);
        addOrders(table);
    }

    private static void addTexts(FunctionTable table) {
        table.add("code_point", call -> new Utf16Functions.CodePoint());
        table.add("initial_capitals", call -> new Utf16Functions.InitialCapitals());
        table.add("length", call -> new Utf16Functions.Length());
        table.add("mask", call -> new Utf16Functions.Mask("ALL"));
        table.add("mask_keep_left", call -> new Utf16Functions.Mask("KEEP_LEFT"));
        table.add("mask_keep_right", call -> new Utf16Functions.Mask("KEEP_RIGHT"));
        table.add("mask_left", call -> new Utf16Functions.Mask("LEFT"));
        table.add("mask_right", call -> new Utf16Functions.Mask("RIGHT"));
        table.add("position", call -> new Utf16Functions.Position());
        table.add("substring", call -> new Utf16Functions.Substring());
        table.add("trim", call -> new Utf16Functions.Trim());
        table.add("lpad", call -> new Utf16Functions.Pad(call.limits(), true));
        table.add("rpad", call -> new Utf16Functions.Pad(call.limits(), false));
        table.add("split", call -> new Utf16Functions.Split(call.limits()));
        table.add("split_to_map", call -> new Utf16Functions.SplitToMap(call.limits()));
        table.add("replace", call -> new Replace(call.limits()));
        table.add("like", call -> new PatternFunctions.Like());
        table.add("like_constant", call -> new PatternFunctions.LikeConstant(call.argument()));
        table.add("regexp_extract", call -> new PatternFunctions.Extract());
        table.add("regexp_extract_all", call -> new PatternFunctions.ExtractAll(call.limits()));
        table.add("regexp_gives_up", call -> new PatternFunctions.GivesUp());
        table.add("regexp_replace", call -> new PatternFunctions.Replace(call.limits()));
        table.add("regexp_split", call -> new PatternFunctions.Split(call.limits()));
    }

    private static void addTimes(FunctionTable table) {
        table.add("convert_zone", call -> new TemporalFunctions.ConvertZone());
        table.add("format_date", call -> new TemporalFunctions.FormatDate());
        table.add("format_time", call -> new TemporalFunctions.FormatTime());
        table.add("format_timestamp", call -> new TemporalFunctions.FormatTimestamp());
        table.add("full_timestamp", call -> new TemporalFunctions.FullTimestamp());
        table.add("parse_date", call -> new TemporalFunctions.ParseDate());
        table.add("parse_days", call -> new TemporalFunctions.ParseDays());
        table.add("parse_time", call -> new TemporalFunctions.ParseTime());
        table.add("parse_timestamp", call -> new TemporalFunctions.ParseTimestamp());
        table.add("window_end", call -> new CalendarWindows.End(call.argument()));
    }

    private static void addJson(FunctionTable table) {
        table.add("is_json", call -> new JsonFunctions.IsJson());
        table.add("json_array_contains", call -> new JsonFunctions.ArrayContains(call.type(1)));
        table.add("json_array_length", call -> new JsonFunctions.ArrayLength());
        table.add("json_concat", call -> new JsonFunctions.Concat(call.limits()));
        table.add("json_extract", call -> new JsonFunctions.Extract(call.limits(), Form.TEXT));
        table.add("json_path", call -> new JsonFunctions.Extract(call.limits(), Form.TEXT_OR_NULL));
        table.add("variant_path", call -> new JsonFunctions.Extract(call.limits(), Form.VARIANT));
        table.add("json_items", call -> new JsonFunctions.Items(call.limits()));
        table.add("json_is_too_large", call -> new JsonFunctions.IsTooLarge(call.limits()));
        table.add("json_keys", call -> new JsonFunctions.Keys());
        table.add("json_records", call -> new JsonFunctions.Records(call.limits()));
    }

    private static void addVariants(FunctionTable table) {
        table.add("parse_json", call -> new VariantFunctions.Parse());
        table.add("is_json_value", call -> new VariantFunctions.IsValue());
        table.add("variant_text", call -> new VariantFunctions.Text());
        table.add("variant_kind", call -> new VariantFunctions.Kind());
    }

    private static void addNumbers(FunctionTable table) {
        table.add("absolute", call -> new Decimals.Signed(call.type(0), true));
        table.add("negate", call -> new Decimals.Signed(call.type(0), false));
        table.add("added", call -> new Decimals.Added(call.array(0)));
        table.add("decimal_text", call -> new Decimals.Text(call.type(0)));
        table.add("double_text", call -> new Numeric.DoubleText());
        table.add("numeric", call -> new Numeric(call.argument(), call.type(0), call.type(1)));
        table.add("round", call -> new Rounding(call.type(0), false));
        table.add("truncate", call -> new Rounding(call.type(0), true));
        table.add("series", call -> new Series(call.limits(), call.types()));
    }

    private static void addCollections(FunctionTable table) {
        table.add("append", call -> new Joining.Append(call.limits()));
        table.add("join", call -> new Joining.Join(call.limits(), call.type(0), false));
        table.add("join_nulls", call -> new Joining.Join(call.limits(), call.type(0), true));
        table.add("bytes_fit", call -> new Size.CountFits(call.limits(), true));
        table.add("elements_fit", call -> new Size.CountFits(call.limits(), false));
        table.add("fits", call -> new Size.Fits(call.limits(), call.type(0)));
        table.add("limited", call -> new Size.Limited(call.limits(), call.type(0)));
        table.add("add_size", call -> new Size.Sum(call.limits(), call.type(1)));
        table.add("map_by_key", call -> new MapOrder.ByKey(call.map()));
        table.add("map_in_order", call -> new MapOrder(call.map()));
        table.add("map_of", call -> new NullPropagation.MapOf(call.array(0), call.array(1)));
        table.add("complete", call -> NullPropagation.of(call.type(0)));
    }

    private static void addOrders(FunctionTable table) {
        table.add("compare", call -> new TextOrder.Compare(call.type(0)));
        table.add("greater", call -> new TextOrder.OfTwo(call.type(0), true));
        table.add("lesser", call -> new TextOrder.OfTwo(call.type(0), false));
        table.add("rank", call -> new TextOrder.Rank(call.type(0)));
        table.add("ranked_text", call -> new TextOrder.RankedText());
        table.add("sort", call -> new TextOrder.Sort(call.array(0).elementType()));
        table.add(
                "array_extreme",
                call ->
                        call.array(0).elementType().equals(DataTypes.StringType)
                                ? new TextOrder.ExtremeText()
                                : new TextOrder.ExtremeBytes());
    }
}
