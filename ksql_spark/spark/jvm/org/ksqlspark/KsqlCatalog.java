package org.ksqlspark;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The few functions that Catalyst lacks, reachable from Spark SQL text as {@code ksql.`name`(...)}.
 *
 * A function that needs a schema carries it in its name after a colon, as Spark DDL:
 * {@code ksql.`decode_json:A INT, B STRING`(value)}.
 */
public final class KsqlCatalog implements FunctionCatalog {
    /** Functions that know their types themselves. */
    private static final Map<String, Supplier<BoundFunction>> SCALARS = Map.ofEntries(
            Map.entry("code_point", UnitText.CodePoint::new),
            Map.entry("convert_zone", TemporalText.ConvertZone::new),
            Map.entry("format_date", TemporalText.FormatDate::new),
            Map.entry("format_time", TemporalText.FormatTime::new),
            Map.entry("format_timestamp", TemporalText.FormatTimestamp::new),
            Map.entry("full_timestamp", TemporalText.FullTimestamp::new),
            Map.entry("initial_capitals", UnitText.InitialCapitals::new),
            Map.entry("is_json", JsonText.IsJson::new),
            Map.entry("json_array_length", JsonText.ArrayLength::new),
            Map.entry("json_concat", JsonText.Concat::new),
            Map.entry("json_extract", JsonText.Extract::new),
            Map.entry("json_items", JsonText.Items::new),
            Map.entry("json_keys", JsonText.Keys::new),
            Map.entry("json_records", JsonText.Records::new),
            Map.entry("length", UnitText.Length::new),
            Map.entry("like", PatternText.Like::new),
            Map.entry("lpad", () -> new UnitText.Pad(true)),
            Map.entry("mask", () -> new UnitText.Mask("ALL")),
            Map.entry("mask_keep_left", () -> new UnitText.Mask("KEEP_LEFT")),
            Map.entry("mask_keep_right", () -> new UnitText.Mask("KEEP_RIGHT")),
            Map.entry("mask_left", () -> new UnitText.Mask("LEFT")),
            Map.entry("mask_right", () -> new UnitText.Mask("RIGHT")),
            Map.entry("parse_date", TemporalText.ParseDate::new),
            Map.entry("parse_days", TemporalText.ParseDays::new),
            Map.entry("parse_time", TemporalText.ParseTime::new),
            Map.entry("parse_timestamp", TemporalText.ParseTimestamp::new),
            Map.entry("ranked_text", TextOrder.RankedText::new),
            Map.entry("position", UnitText.Position::new),
            Map.entry("regexp_extract", PatternText.Extract::new),
            Map.entry("regexp_extract_all", PatternText.ExtractAll::new),
            Map.entry("regexp_replace", PatternText.Replace::new),
            Map.entry("regexp_split", PatternText.Split::new),
            Map.entry("rpad", () -> new UnitText.Pad(false)),
            Map.entry("split", UnitText.Split::new),
            Map.entry("split_to_map", UnitText.SplitToMap::new),
            Map.entry("substring", UnitText.Substring::new),
            Map.entry("trim", UnitText.Trim::new));

    private String name;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) {
        String full = identifier.name();
        int colon = full.indexOf(':');
        String function = colon < 0 ? full : full.substring(0, colon);
        String argument = colon < 0 ? "" : full.substring(colon + 1);
        switch (function) {
            case "decode_json":
                return new Unbound(full, types -> new JsonDecoder(argument));
            case "explain_json":
                return new Unbound(full, types -> new JsonDecoder.Explain(argument));
            case "decode_delimited":
                return new Unbound(full, types -> new DelimitedDecoder(argument));
            case "explain_delimited":
                return new Unbound(full, types -> new DelimitedDecoder.Explain(argument));
            case "log_caused":
                return new Unbound(full, types -> new ProcessingLog.Caused(argument));
            case "log_failed":
                return new Unbound(full, types -> types.isEmpty() ? new ProcessingLog.Failed(argument)
                        : new ProcessingLog.FailedRow(argument));
            case "log_unreadable":
                return new Unbound(full, types -> new ProcessingLog.Unreadable(argument));
            case "quote_delimited":
            case "quote_delimited_first":
                return new Unbound(full, types ->
                        new DelimitedDecoder.Quote(argument, function.equals("quote_delimited_first")));
            case "encode_json":
                return new Unbound(full, types -> new JsonEncoder(row(types), false));
            case "encode_json_bare":
                return new Unbound(full, types -> new JsonEncoder(row(types), true));
            case "kafka_int_decode":
                return new Unbound(full, types -> new KafkaCodec.DecodeInt());
            case "kafka_bigint_decode":
                return new Unbound(full, types -> new KafkaCodec.DecodeLong());
            case "kafka_double_decode":
                return new Unbound(full, types -> new KafkaCodec.DecodeDouble());
            case "kafka_double_encode":
                return new Unbound(full, types -> new KafkaCodec.EncodeDouble());
            case "kafka_partition":
                return new Unbound(full, types -> new KafkaCodec.Partition());
            case "pack":
                return new Unbound(full, types -> new PackedRow.Pack(row(types)));
            case "unpack":
                return new Unbound(full, types -> new PackedRow.Unpack(argument));
            case "collect_list":
                return new Unbound(full, types ->
                        new KeptValues.CollectList(full, types, Integer.parseInt(argument)));
            case "collect_set":
                return new Unbound(full, types ->
                        new KeptValues.CollectSet(full, types, Integer.parseInt(argument)));
            case "histogram":
                return new Unbound(full, types ->
                        new KeptValues.Histogram(full, types, Integer.parseInt(argument)));
            case "attr":
                return new Unbound(full, types -> new KeptValues.Attr(full, types));
            case "topk":
            case "topk_distinct":
                return new Unbound(full, types -> new KeptValues.Top(
                        full, types, Integer.parseInt(argument), function.equals("topk_distinct")));
            case "earliest":
            case "latest":
                return new Unbound(full, types -> new KeptValues.ByOffset(
                        full, types, function.equals("latest"), List.of(argument.split(","))));
            case "json_array_contains":
                return new Unbound(full, types -> new JsonText.ArrayContains(types.fields()[1].dataType()));
            case "json_text":
                return new Unbound(full, types -> new JsonEncoder.Text(row(types)));
            case "like_constant":
                return new Unbound(full, types -> new PatternText.LikeConstant(argument));
            case "map_by_key":
                return new Unbound(full, types -> new MapOrder.ByKey((MapType) types.fields()[0].dataType()));
            case "map_in_order":
                return new Unbound(full, types -> new MapOrder((MapType) types.fields()[0].dataType()));
            case "compare":
                return new Unbound(full, types -> new TextOrder.Compare(types.fields()[0].dataType()));
            case "greater":
            case "lesser":
                return new Unbound(full, types ->
                        new TextOrder.OfTwo(types.fields()[0].dataType(), function.equals("greater")));
            case "array_extreme":
                return new Unbound(full, types -> array(types).elementType().equals(DataTypes.StringType)
                        ? new TextOrder.ExtremeText() : new TextOrder.ExtremeBytes());
            case "complete":
                return new Unbound(full, types -> Completeness.of(types.fields()[0].dataType()));
            case "map_of":
                return new Unbound(full, types -> new Completeness.MapOf(
                        (ArrayType) types.fields()[0].dataType(), (ArrayType) types.fields()[1].dataType()));
            case "round":
            case "truncate":
                return new Unbound(full, types ->
                        new Rounding(types.fields()[0].dataType(), function.equals("truncate")));
            case "rank":
                return new Unbound(full, types -> new TextOrder.Rank(types.fields()[0].dataType()));
            case "sort":
                return new Unbound(full, types -> new TextOrder.Sort(array(types).elementType()));
            case "moments":
                return new Unbound(full, Moments::new);
            case "python":
                return new Unbound(full, types -> PythonFunctions.bind(argument, types));
            default:
                if (SCALARS.containsKey(full)) {
                    return new Unbound(full, types -> SCALARS.get(full).get());
                }
                throw new IllegalArgumentException("no function " + full + " in catalog " + name);
        }
    }

    private static ArrayType array(StructType types) {
        return (ArrayType) types.fields()[0].dataType();
    }

    private static StructType row(StructType types) {
        return (StructType) types.fields()[0].dataType();
    }

    /** A function with one signature: binding takes the types as they are, since the plan is typed already. */
    private static final class Unbound implements UnboundFunction {
        private final String name;
        private final Function<StructType, BoundFunction> binder;

        Unbound(String name, Function<StructType, BoundFunction> binder) {
            this.name = name;
            this.binder = binder;
        }

        @Override
        public BoundFunction bind(StructType inputType) {
            return binder.apply(inputType);
        }

        @Override
        public String description() {
            return name;
        }

        @Override
        public String name() {
            return name;
        }
    }
}
