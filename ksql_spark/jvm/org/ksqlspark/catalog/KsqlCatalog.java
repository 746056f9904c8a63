package org.ksqlspark.catalog;

import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.ksqlspark.formats.AvroDecoder;
import org.ksqlspark.formats.AvroEncoder;
import org.ksqlspark.formats.DelimitedDecoder;
import org.ksqlspark.formats.Frame;
import org.ksqlspark.formats.JsonDecoder;
import org.ksqlspark.formats.JsonEncoder;
import org.ksqlspark.formats.KafkaCodec;
import org.ksqlspark.formats.ProtobufDecoder;
import org.ksqlspark.formats.ProtobufEncoder;
import org.ksqlspark.functions.Decimals;
import org.ksqlspark.functions.Joining;
import org.ksqlspark.functions.JsonFunctions;
import org.ksqlspark.functions.Limits;
import org.ksqlspark.functions.MapOrder;
import org.ksqlspark.functions.NullPropagation;
import org.ksqlspark.functions.PatternFunctions;
import org.ksqlspark.functions.Replace;
import org.ksqlspark.functions.Rounding;
import org.ksqlspark.functions.Series;
import org.ksqlspark.functions.Size;
import org.ksqlspark.functions.TemporalFunctions;
import org.ksqlspark.functions.TextOrder;
import org.ksqlspark.functions.Utf16Functions;
import org.ksqlspark.log.ProcessingLog;
import org.ksqlspark.python.PythonFunctions;
import org.ksqlspark.registry.RegistryClient;
import org.ksqlspark.state.CollectingAggregates;
import org.ksqlspark.state.PackedRow;
import org.ksqlspark.state.RetractableStatistics;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The functions that Catalyst lacks, available in Spark SQL text as {@code ksql.`name`(...)}.
 *
 * <p>A function that needs a schema has it in its name after a colon, as Spark DDL: {@code
 * ksql.`decode_json:A INT, B STRING`(value)}.
 */
public final class KsqlCatalog implements FunctionCatalog {
    /** Functions with fixed types. */
    private static final Map<String, Supplier<BoundFunction>> SCALARS =
            Map.ofEntries(
                    Map.entry("code_point", Utf16Functions.CodePoint::new),
                    Map.entry("convert_zone", TemporalFunctions.ConvertZone::new),
                    Map.entry("format_date", TemporalFunctions.FormatDate::new),
                    Map.entry("format_time", TemporalFunctions.FormatTime::new),
                    Map.entry("format_timestamp", TemporalFunctions.FormatTimestamp::new),
                    Map.entry("full_timestamp", TemporalFunctions.FullTimestamp::new),
                    Map.entry("initial_capitals", Utf16Functions.InitialCapitals::new),
                    Map.entry("is_json", JsonFunctions.IsJson::new),
                    Map.entry("is_json_null", JsonDecoder.IsNull::new),
                    Map.entry("json_array_length", JsonFunctions.ArrayLength::new),
                    Map.entry("json_concat", JsonFunctions.Concat::new),
                    Map.entry("json_extract", JsonFunctions.Extract::new),
                    Map.entry("json_keys", JsonFunctions.Keys::new),
                    Map.entry("json_records", JsonFunctions.Records::new),
                    Map.entry("length", Utf16Functions.Length::new),
                    Map.entry("like", PatternFunctions.Like::new),
                    Map.entry("mask", () -> new Utf16Functions.Mask("ALL")),
                    Map.entry("mask_keep_left", () -> new Utf16Functions.Mask("KEEP_LEFT")),
                    Map.entry("mask_keep_right", () -> new Utf16Functions.Mask("KEEP_RIGHT")),
                    Map.entry("mask_left", () -> new Utf16Functions.Mask("LEFT")),
                    Map.entry("mask_right", () -> new Utf16Functions.Mask("RIGHT")),
                    Map.entry("parse_date", TemporalFunctions.ParseDate::new),
                    Map.entry("parse_days", TemporalFunctions.ParseDays::new),
                    Map.entry("parse_time", TemporalFunctions.ParseTime::new),
                    Map.entry("parse_timestamp", TemporalFunctions.ParseTimestamp::new),
                    Map.entry("ranked_text", TextOrder.RankedText::new),
                    Map.entry("position", Utf16Functions.Position::new),
                    Map.entry("regexp_extract", PatternFunctions.Extract::new),
                    Map.entry("regexp_gives_up", PatternFunctions.GivesUp::new),
                    Map.entry("substring", Utf16Functions.Substring::new),
                    Map.entry("trim", Utf16Functions.Trim::new));

    /** The same, of those whose results may be far larger than their arguments. */
    private static final Map<String, Function<Limits, BoundFunction>> LIMITED =
            Map.ofEntries(
                    Map.entry("append", Joining.Append::new),
                    Map.entry("bytes_fit", limits -> new Size.CountFits(limits, true)),
                    Map.entry("elements_fit", limits -> new Size.CountFits(limits, false)),
                    Map.entry("json_items", JsonFunctions.Items::new),
                    Map.entry("lpad", limits -> new Utf16Functions.Pad(limits, true)),
                    Map.entry("regexp_extract_all", PatternFunctions.ExtractAll::new),
                    Map.entry("regexp_replace", PatternFunctions.Replace::new),
                    Map.entry("regexp_split", PatternFunctions.Split::new),
                    Map.entry("replace", Replace::new),
                    Map.entry("rpad", limits -> new Utf16Functions.Pad(limits, false)),
                    Map.entry("split", Utf16Functions.Split::new),
                    Map.entry("split_to_map", Utf16Functions.SplitToMap::new));

    private String name;
    private Limits limits;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
        this.limits = Limits.of(options);
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
            case "decode_json_sr":
                return new Unbound(full, types -> new JsonDecoder(argument, true));
            case "explain_json":
                return new Unbound(full, types -> new JsonDecoder.Explain(argument));
            case "decode_delimited":
                return new Unbound(full, types -> new DelimitedDecoder(argument));
            case "explain_delimited":
                return new Unbound(full, types -> new DelimitedDecoder.Explain(argument));
            case "decode_avro":
                return new Unbound(
                        full, types -> new AvroDecoder(argument, RegistryClient.ofSession()));
            case "explain_avro":
                return new Unbound(
                        full,
                        types -> new AvroDecoder.Explain(argument, RegistryClient.ofSession()));
            case "encode_avro":
                return new Unbound(full, types -> new AvroEncoder(row(types), false, argument));
            case "encode_avro_bare":
                return new Unbound(full, types -> new AvroEncoder(row(types), true, argument));
            case "decode_protobuf":
                return new Unbound(
                        full, types -> new ProtobufDecoder(argument, RegistryClient.ofSession()));
            case "explain_protobuf":
                return new Unbound(
                        full,
                        types ->
                                new ProtobufDecoder.Explain(
                                        new ProtobufDecoder(argument, RegistryClient.ofSession())));
            case "frame_body":
                return new Unbound(full, types -> new Frame.Body());
            case "framed":
                return new Unbound(full, types -> new Frame.FromHeader(argument, types));
            case "encode_protobuf":
                return new Unbound(full, types -> new ProtobufEncoder(row(types), argument));
            case "log_caused":
                return new Unbound(full, types -> new ProcessingLog.Caused(argument));
            case "log_failed":
                return new Unbound(
                        full,
                        types ->
                                types.isEmpty()
                                        ? new ProcessingLog.Failed(argument)
                                        : new ProcessingLog.FailedRow(argument));
            case "log_unreadable":
                return new Unbound(full, types -> new ProcessingLog.Unreadable(argument));
            case "quote_delimited":
            case "quote_delimited_first":
                return new Unbound(
                        full,
                        types ->
                                new DelimitedDecoder.Quote(
                                        argument, function.equals("quote_delimited_first")));
            case "encode_json":
                return new Unbound(full, types -> new JsonEncoder(row(types), false));
            case "encode_json_bare":
                return new Unbound(full, types -> new JsonEncoder(row(types), true));
            case "encode_json_sr":
                return new Unbound(full, types -> new JsonEncoder(row(types), false, argument));
            case "encode_json_sr_bare":
                return new Unbound(full, types -> new JsonEncoder(row(types), true, argument));
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
                return new Unbound(
                        full,
                        types ->
                                new CollectingAggregates.CollectList(
                                        full, types, Integer.parseInt(argument)));
            case "collect_set":
                return new Unbound(
                        full,
                        types ->
                                new CollectingAggregates.CollectSet(
                                        full, types, Integer.parseInt(argument)));
            case "histogram":
                return new Unbound(
                        full,
                        types ->
                                new CollectingAggregates.Histogram(
                                        full, types, Integer.parseInt(argument)));
            case "attr":
                return new Unbound(full, types -> new CollectingAggregates.Attr(full, types));
            case "topk":
            case "topk_distinct":
                return new Unbound(
                        full,
                        types ->
                                new CollectingAggregates.Top(
                                        full,
                                        types,
                                        Integer.parseInt(argument),
                                        function.equals("topk_distinct")));
            case "earliest":
            case "latest":
                return new Unbound(
                        full,
                        types ->
                                new CollectingAggregates.ByOffset(
                                        full,
                                        types,
                                        function.equals("latest"),
                                        List.of(argument.split(","))));
            case "json_array_contains":
                return new Unbound(
                        full,
                        types -> new JsonFunctions.ArrayContains(types.fields()[1].dataType()));
            case "json_text":
                return new Unbound(full, types -> new JsonEncoder.Text(row(types)));
            case "like_constant":
                return new Unbound(full, types -> new PatternFunctions.LikeConstant(argument));
            case "fits":
                return new Unbound(
                        full, types -> new Size.Fits(limits, types.fields()[0].dataType()));
            case "add_size":
                return new Unbound(
                        full, types -> new Size.Sum(limits, types.fields()[1].dataType()));
            case "join":
            case "join_nulls":
                return new Unbound(
                        full,
                        types ->
                                new Joining.Join(
                                        limits,
                                        types.fields()[0].dataType(),
                                        function.equals("join_nulls")));
            case "series":
                return new Unbound(full, types -> new Series(limits, types));
            case "map_by_key":
                return new Unbound(
                        full, types -> new MapOrder.ByKey((MapType) types.fields()[0].dataType()));
            case "map_in_order":
                return new Unbound(
                        full, types -> new MapOrder((MapType) types.fields()[0].dataType()));
            case "compare":
                return new Unbound(
                        full, types -> new TextOrder.Compare(types.fields()[0].dataType()));
            case "greater":
            case "lesser":
                return new Unbound(
                        full,
                        types ->
                                new TextOrder.OfTwo(
                                        types.fields()[0].dataType(), function.equals("greater")));
            case "array_extreme":
                return new Unbound(
                        full,
                        types ->
                                array(types).elementType().equals(DataTypes.StringType)
                                        ? new TextOrder.ExtremeText()
                                        : new TextOrder.ExtremeBytes());
            case "complete":
                return new Unbound(full, types -> NullPropagation.of(types.fields()[0].dataType()));
            case "map_of":
                return new Unbound(
                        full,
                        types ->
                                new NullPropagation.MapOf(
                                        (ArrayType) types.fields()[0].dataType(),
                                        (ArrayType) types.fields()[1].dataType()));
            case "negate":
            case "absolute":
                return new Unbound(
                        full,
                        types ->
                                new Decimals.Signed(
                                        types.fields()[0].dataType(), function.equals("absolute")));
            case "decimal_text":
                return new Unbound(full, types -> new Decimals.Text(types.fields()[0].dataType()));
            case "round":
            case "truncate":
                return new Unbound(
                        full,
                        types ->
                                new Rounding(
                                        types.fields()[0].dataType(), function.equals("truncate")));
            case "rank":
                return new Unbound(full, types -> new TextOrder.Rank(types.fields()[0].dataType()));
            case "sort":
                return new Unbound(full, types -> new TextOrder.Sort(array(types).elementType()));
            case "variance":
            case "correlation":
                return new Unbound(full, RetractableStatistics::new);
            case "python":
                return new Unbound(full, types -> PythonFunctions.bind(argument, types));
            default:
                if (SCALARS.containsKey(full)) {
                    return new Unbound(full, types -> SCALARS.get(full).get());
                }
                if (LIMITED.containsKey(full)) {
                    return new Unbound(full, types -> LIMITED.get(full).apply(limits));
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

    /**
     * A function with one signature: binding accepts the types as they are, because the plan is
     * typed already.
     */
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
