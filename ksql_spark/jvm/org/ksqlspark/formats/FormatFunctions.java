package org.ksqlspark.formats;

import org.ksqlspark.functions.FunctionTable;
import org.ksqlspark.registry.RegistryClient;

/** Decoders and encoders by name. */
public final class FormatFunctions {
    private FormatFunctions() {}

    /** Adds them to a table. */
    public static void addTo(FunctionTable table) {
        addTexts(table);
        addSchemas(table);
        table.add("change", call -> new Envelope.Change(call.row(), call.argument()));
        table.add("explain_change", call -> new Envelope.Explain(call.row(), call.argument()));
        table.add("change_key", call -> new Envelope.Key(call.row(), call.argument()));
        table.add("kafka_int_decode", call -> KafkaCodec.Decode.toInt());
        table.add("kafka_bigint_decode", call -> KafkaCodec.Decode.toLong());
        table.add("kafka_double_decode", call -> KafkaCodec.Decode.toDouble());
        table.add("kafka_string_decode", call -> new KafkaCodec.DecodeText());
        table.add("kafka_double_encode", call -> new KafkaCodec.EncodeDouble());
        table.add("kafka_partition", call -> new KafkaCodec.Partition());
    }

    private static void addTexts(FunctionTable table) {
        table.add("decode_json", call -> new JsonDecoder(call.argument()));
        table.add("decode_json_sr", call -> new JsonDecoder(call.argument(), true));
        table.add("explain_json", call -> new BytesToRow.Explain(new JsonDecoder(call.argument())));
        table.add(
                "explain_json_sr",
                call -> new BytesToRow.Explain(new JsonDecoder(call.argument(), true)));
        table.add("is_json_null", call -> new JsonDecoder.IsNull());
        table.add("encode_json", call -> json(call, false, JsonEncoder.Form.PLAIN));
        table.add("encode_json_bare", call -> json(call, true, JsonEncoder.Form.PLAIN));
        table.add("encode_json_sr", call -> json(call, false, JsonEncoder.Form.CONNECTS));
        table.add("encode_json_sr_bare", call -> json(call, true, JsonEncoder.Form.CONNECTS));
        table.add(
                "json_text",
                call -> new JsonEncoder.Text(call.limits(), call.row(), call.argument()));
        table.add("variant_as", call -> new JsonDecoder.FromText(call.argument()));
        table.add("decode_delimited", call -> new DelimitedDecoder(call.argument()));
        table.add(
                "explain_delimited",
                call -> new BytesToRow.Explain(new DelimitedDecoder(call.argument())));
        table.add("quote_delimited", call -> new DelimitedQuote(call.argument(), false));
        table.add("quote_delimited_first", call -> new DelimitedQuote(call.argument(), true));
    }

    private static void addSchemas(FunctionTable table) {
        table.add("decode_avro", call -> avro(call));
        table.add("explain_avro", call -> new BytesToRow.Explain(avro(call)));
        table.add("encode_avro", call -> new AvroEncoder(call.row(), false, call.argument()));
        table.add("encode_avro_bare", call -> new AvroEncoder(call.row(), true, call.argument()));
        table.add("decode_protobuf", call -> protobuf(call));
        table.add("explain_protobuf", call -> new BytesToRow.Explain(protobuf(call)));
        table.add("encode_protobuf", call -> new ProtobufEncoder(call.row(), call.argument()));
        table.add("frame_body", call -> new Frame.Body());
        table.add("framed", call -> new Frame.FromHeader(call.argument(), call.types()));
    }

    private static JsonEncoder json(FunctionTable.Call call, boolean bare, JsonEncoder.Form form) {
        return new JsonEncoder(call.row(), bare, form, call.argument());
    }

    private static AvroDecoder avro(FunctionTable.Call call) {
        return new AvroDecoder(call.argument(), RegistryClient.ofSession());
    }

    private static ProtobufDecoder protobuf(FunctionTable.Call call) {
        return new ProtobufDecoder(call.argument(), RegistryClient.ofSession());
    }
}
