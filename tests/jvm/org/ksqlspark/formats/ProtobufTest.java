package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.MessageOptions;
import com.sun.net.httpserver.HttpServer;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** ProtobufDecoder and ProtobufEncoder. */
class ProtobufTest {
    private static final String PROTO3 = "syntax = \"proto3\"; ";

    /** Every type that columns have, with the .proto file that they are written as. */
    private static final String EVERYTHING_DDL =
            "I int, L bigint, D double, B boolean, S string, Y binary, DT date, TM int, TS"
                + " timestamp, DE decimal(10, 2), A array<int>, M map<string, string>, R struct<X:"
                + " int, IN: struct<Y: string>>, AR array<struct<X: int>>";

    private static final String EVERYTHING =
            PROTO3
                    + "message E { int32 I = 1; int64 L = 2; double D = 3; bool B = 4; string S ="
                    + " 5; bytes Y = 6; google.type.Date DT = 7; google.type.TimeOfDay TM = 8;"
                    + " google.protobuf.Timestamp TS = 9; confluent.type.Decimal DE = 10; repeated"
                    + " int32 A = 11; map<string, string> M = 12; R R = 13; repeated AR AR = 300;"
                    + " message R { int32 X = 1; In IN = 2; message In { string Y = 1; } } message"
                    + " AR { int32 X = 1; } }";

    private static String argument(Map<String, ?> given) {
        try {
            return new ObjectMapper().writeValueAsString(new TreeMap<>(given));
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static ProtobufDecoder decoder(String ddl, String schema) {
        String read = ddl.replace("TM int", "TM time(3)");
        return new ProtobufDecoder(argument(Map.of("ddl", read, "schema", schema)), Map.of());
    }

    private static ProtobufEncoder encoder(String ddl, String schema) {
        return new ProtobufEncoder(
                StructType.fromDDL(ddl), argument(Map.of("path", List.of(0), "schema", schema)));
    }

    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static Object[] values(InternalRow row) {
        return ((GenericInternalRow) row).values();
    }

    private static byte[] hex(String digits) {
        return HexFormat.of().parseHex(digits.replace(" ", ""));
    }

    private static InternalRow everything() {
        return row(
                -1,
                1L << 40,
                1.5,
                true,
                text("é"),
                new byte[] {1, 0},
                -1,
                86_399_999,
                -1000L,
                Decimal.apply(new BigDecimal("-12.30"), 10, 2),
                new GenericArrayData(new Object[] {1, 0, -1}),
                new ArrayBasedMapData(
                        new GenericArrayData(new Object[] {text("k")}),
                        new GenericArrayData(new Object[] {text("v")})),
                row(7, row(text("y"))),
                new GenericArrayData(new Object[] {row(0), row(5)}));
    }

    @Test
    void whatIsWrittenIsRead() {
        byte[] data = encoder(EVERYTHING_DDL, EVERYTHING).invoke(everything());
        ProtobufDecoder decoder = decoder(EVERYTHING_DDL, EVERYTHING);
        InternalRow read = decoder.invoke(data);
        Object[] expected = values(everything());
        for (int i = 0; i < expected.length; i++) {
            String wanted =
                    String.valueOf(
                            expected[i] instanceof byte[] b ? List.of(b[0], b[1]) : expected[i]);
            Object got = values(read)[i];
            String found = String.valueOf(got instanceof byte[] b ? List.of(b[0], b[1]) : got);
            if (!(got instanceof ArrayBasedMapData)) {
                assertEquals(wanted, found, "field " + i);
            }
        }
        assertEquals("v", read.getMap(11).valueArray().getUTF8String(0).toString());
    }

    @Test
    void nullIsLeftOutAndReadAsTheDefaultWhereThereIsOne() {
        byte[] data = encoder(EVERYTHING_DDL, EVERYTHING).invoke(new GenericInternalRow(14));
        assertEquals(0, data.length);
        InternalRow read = decoder(EVERYTHING_DDL, EVERYTHING).invoke(data);
        assertEquals(0, read.getInt(0));
        assertEquals("", read.getUTF8String(4).toString());
        assertTrue(read.isNullAt(6) && read.isNullAt(9) && read.isNullAt(12));
        assertEquals(0, read.getArray(10).numElements());
        assertEquals(0, read.getMap(11).numElements());
    }

    @Test
    void optionalFieldsAndWrappersKeepNull() {
        String schema =
                PROTO3 + "message M { optional int32 a = 1; google.protobuf.StringValue b = 2; }";
        ProtobufEncoder encoder = encoder("A int, B string", schema);
        ProtobufDecoder decoder = decoder("A int, B string", schema);
        for (InternalRow row : List.of(row(0, text("")), row(null, null), row(3, text("x")))) {
            assertEquals(row.toString(), decoder.invoke(encoder.invoke(row)).toString());
        }
        assertEquals("08001200", HexFormat.of().formatHex(encoder.invoke(row(0, text("")))));
    }

    @Test
    void otherScalarsAndEnums() {
        String schema =
                PROTO3
                        + "message M { uint32 a = 1; sint32 b = 2; fixed32 c = 3; sfixed64 d = 4;"
                        + " float e = 5; Suit f = 6; enum Suit { NONE = 0; HEARTS = 4; } }";
        String ddl = "A bigint, B int, C bigint, D bigint, E double, F string";
        InternalRow row = row(4_294_967_295L, -3, 4_000_000_000L, -5L, 0.5, text("HEARTS"));
        byte[] data = encoder(ddl, schema).invoke(row);
        assertEquals(row.toString(), decoder(ddl, schema).invoke(data).toString());
        assertEquals("9", decoder("F string", schema).invoke(hex("3009")).getString(0));
        assertEquals(
                "F: The schema's enum M.Suit has no SPADES.",
                Unwritable.reason(encoder("F string", schema).invoke(row(text("SPADES")))));
        assertEquals(
                "A: -1 does not fit 32 bits without a sign.",
                Unwritable.reason(encoder("A bigint", schema).invoke(row(-1L))));
    }

    @Test
    void mapsAreAlsoListsOfEntries() {
        String schema =
                PROTO3
                        + "message M { repeated MEntry m = 1;"
                        + " message MEntry { string key = 1; int32 value = 2; } }";
        InternalRow row =
                row(
                        new ArrayBasedMapData(
                                new GenericArrayData(new Object[] {text("a")}),
                                new GenericArrayData(new Object[] {5})));
        byte[] data = encoder("M map<string, int>", schema).invoke(row);
        assertEquals("0a050a01611005", HexFormat.of().formatHex(data));
        InternalRow read = decoder("M map<string, int>", schema).invoke(data);
        assertEquals(5, read.getMap(0).valueArray().getInt(0));
    }

    @Test
    void alternativesAreAStruct() {
        String schema = PROTO3 + "message M { oneof o { int32 a = 1; string b = 2; } }";
        String ddl = "o_0 struct<a: int, b: string>";
        byte[] data = encoder(ddl, schema).invoke(row(row(null, text("x"))));
        assertEquals("120178", HexFormat.of().formatHex(data));
        assertEquals(
                row(row(null, text("x"))).toString(), decoder(ddl, schema).invoke(data).toString());
        assertTrue(decoder(ddl, schema).invoke(new byte[0]).isNullAt(0));
        assertEquals("x", decoder("B string", schema).invoke(data).getString(0));
    }

    @Test
    void eachRecordNamesItsSchemaAndItsMessage() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        String schema =
                PROTO3
                        + "import 'other.proto'; package p; message First { int32 a = 1; }"
                        + " enum E { X = 0; } message Second { message In { Other b = 2; } }";
        String other = PROTO3 + "message Other { int64 c = 1; }";
        server.createContext(
                "/",
                exchange -> {
                    String path = exchange.getRequestURI().getPath();
                    Map<String, ?> answer =
                            path.equals("/schemas/ids/7")
                                    ? Map.of(
                                            "schema",
                                            schema.replace('\'', '"'),
                                            "references",
                                            List.of(
                                                    Map.of(
                                                            "name",
                                                            "other.proto",
                                                            "subject",
                                                            "o",
                                                            "version",
                                                            1)))
                                    : Map.of("schema", other);
                    byte[] body = argument(answer).getBytes(StandardCharsets.UTF_8);
                    exchange.sendResponseHeaders(200, body.length);
                    exchange.getResponseBody().write(body);
                    exchange.close();
                });
        server.start();
        try {
            ProtobufDecoder decoder =
                    new ProtobufDecoder(
                            argument(Map.of("ddl", "A int, B struct<C: bigint>")),
                            Map.of("url", "http://127.0.0.1:" + server.getAddress().getPort()));
            assertEquals(5, decoder.invoke(hex("0000000007 00 0805")).getInt(0));
            byte[] inner = hex("0000000007 040200 12020805");
            assertEquals(5L, decoder.invoke(inner).getStruct(1, 1).getLong(0));
            assertEquals(6, decoder.invoke(hex("0000000007 0200 0806")).getInt(0));
            assertNull(decoder.invoke(hex("0000000007 0208 0806")));
            assertNull(decoder.invoke(hex("0000000007")));
            Map<String, ?> given =
                    Map.of(
                            "id",
                            7,
                            "path",
                            List.of(1, 0),
                            "schema",
                            schema.replace('\'', '"'),
                            "references",
                            List.of(other));
            ProtobufEncoder encoder =
                    new ProtobufEncoder(StructType.fromDDL("B struct<C: bigint>"), argument(given));
            assertEquals(
                    HexFormat.of().formatHex(inner),
                    HexFormat.of().formatHex(encoder.invoke(row(row(5L)))));
        } finally {
            server.stop(0);
        }
    }

    /** As Confluent's serializer for Python registers schemas. */
    @Test
    void aSchemaMayBeASerializedDescriptor() {
        String schema =
                "Cgd2LnByb3RvEgFwGh9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvIv8BCgdSZWFkaW5n"
                    + "EgoKAmlkGAEgASgDEiYKAmF0GAIgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIiCgR0"
                    + "YWdzGAMgAygLMhQucC5SZWFkaW5nLlRhZ3NFbnRyeRILCgFhGAQgASgFSAASCwoBYhgFIAEoCUgA"
                    + "EhAKA29wdBgGIAEoCEgBiAEBEgoKAnhzGAcgAygBGjwKCVRhZ3NFbnRyeRILCgNrZXkYASABKAkS"
                    + "HgoFdmFsdWUYAiABKA4yDy5wLlJlYWRpbmcuS2luZDoCOAEiGQoES2luZBIICgROT05FEAASBwoD"
                    + "SE9UEARCAwoBb0IGCgRfb3B0YgZwcm90bzM=";
        String ddl =
                "ID bigint, TS timestamp, TAGS map<string, string>, o_0 struct<A: int, B: string>,"
                        + " OPT boolean, XS array<double>";
        InternalRow row =
                row(
                        5L,
                        null,
                        new ArrayBasedMapData(
                                new GenericArrayData(new Object[] {text("k")}),
                                new GenericArrayData(new Object[] {text("HOT")})),
                        row(null, text("x")),
                        null,
                        new GenericArrayData(new Object[] {0.5}));
        InternalRow read = decoder(ddl, schema).invoke(encoder(ddl, schema).invoke(row));
        assertEquals(5L, read.getLong(0));
        assertEquals("HOT", read.getMap(2).valueArray().getUTF8String(0).toString());
        assertEquals("x", read.getStruct(3, 2).getString(1));
        assertTrue(read.isNullAt(4));
        assertEquals("[0.5]", read.getArray(5).toString());
    }

    /** As descriptors have them: the message of a map counts, and proto2 tells NULL from 0. */
    @Test
    void descriptorsKeepTheirLabelsAndThePlacesOfTheirMessages() {
        DescriptorProto.Builder outer =
                DescriptorProto.newBuilder()
                        .setName("Outer")
                        .addField(field("req", 1, Type.TYPE_INT32).setLabel(Label.LABEL_REQUIRED))
                        .addField(field("opt", 2, Type.TYPE_INT32).setLabel(Label.LABEL_OPTIONAL))
                        .addField(
                                field("tags", 3, Type.TYPE_MESSAGE)
                                        .setTypeName(".Outer.TagsEntry")
                                        .setLabel(Label.LABEL_REPEATED))
                        .addNestedType(
                                DescriptorProto.newBuilder()
                                        .setName("TagsEntry")
                                        .setOptions(MessageOptions.newBuilder().setMapEntry(true))
                                        .addField(field("key", 1, Type.TYPE_STRING))
                                        .addField(field("value", 2, Type.TYPE_INT32)))
                        .addNestedType(
                                DescriptorProto.newBuilder()
                                        .setName("Inner")
                                        .addField(field("x", 1, Type.TYPE_INT32)));
        String text =
                Base64.getEncoder()
                        .encodeToString(
                                FileDescriptorProto.newBuilder()
                                        .setName("f.proto")
                                        .addMessageType(outer)
                                        .build()
                                        .toByteArray());
        assertEquals(
                "Outer.Inner", new ProtobufSchema(text, List.of()).message(List.of(0, 1)).name());
        InternalRow read =
                decoder("REQ int, OPT int, TAGS map<string, int>", text).invoke(hex("0805"));
        assertEquals(5, read.getInt(0));
        assertTrue(read.isNullAt(1));
        assertEquals(0, read.getMap(2).numElements());
    }

    private static FieldDescriptorProto.Builder field(String name, int number, Type type) {
        return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type);
    }

    @Test
    void muchSpaceInSchemasTakesNoTime() {
        String space = " ".repeat(500_000) + "\n".repeat(500_000);
        String schema = space + PROTO3 + "message M { int32 a = 1; }";
        assertEquals(5, decoder("A int", schema).invoke(hex("0805")).getInt(0));
        String edition = space + "edition = '2023'; message M { int32 a = 1; }";
        assertEquals(5, decoder("A int", edition).invoke(hex("0805")).getInt(0));
    }

    @Test
    void longTextsMakeTheBuffersGrow() {
        String schema = PROTO3 + "message M { N n = 1; message N { repeated string a = 1; } }";
        String ddl = "N struct<A: array<string>>";
        UTF8String longer = text("x".repeat(10_000));
        InternalRow row = row(row(new GenericArrayData(new Object[] {longer, longer})));
        byte[] data = encoder(ddl, schema).invoke(row);
        assertEquals(
                20_000,
                decoder(ddl, schema)
                                .invoke(data)
                                .getStruct(0, 1)
                                .getArray(0)
                                .getUTF8String(0)
                                .numBytes()
                        * 2);
    }

    /** Whatever the bytes are, a record is read or it is NULL. */
    @Test
    void anyBytesAreReadOrNull() throws IOException {
        Random random = new Random(5);
        ProtobufDecoder decoder = decoder(EVERYTHING_DDL, EVERYTHING);
        byte[] good = encoder(EVERYTHING_DDL, EVERYTHING).invoke(everything());
        int read = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] data = i % 2 == 0 ? good.clone() : new byte[random.nextInt(60)];
            if (i % 2 == 0) {
                data[random.nextInt(data.length)] = (byte) random.nextInt();
            } else {
                random.nextBytes(data);
            }
            read += decoder.invoke(data) == null ? 0 : 1;
        }
        assertTrue(read > 0);
        ByteArrayOutputStream deep = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(deep);
        for (int i = 0; i < 100_000; i++) {
            out.writeTag(99, 3);
        }
        out.flush();
        assertNull(decoder.invoke(deep.toByteArray()));
        assertNotNull(decoder.invoke(good));
        assertFalse(decoder.invoke(good).isNullAt(0));
    }
}
