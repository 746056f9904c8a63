package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.ksqlspark.registry.RegistryClient.Away;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;

/** AvroDecoder and AvroEncoder, with a registry over HTTP. */
class AvroTest {
    private static final String RECORD =
            "{'type':'record','name':'R','fields':[{'name':'a','type':'int'},"
                    + "{'name':'skipped','type':{'type':'array','items':'string'}},"
                    + "{'name':'b','type':['null','string'],'default':null}]}";

    private final Map<String, String> answers = new ConcurrentHashMap<>();
    private final List<String> asked = new ArrayList<>();
    private HttpServer server;

    @BeforeEach
    void serve() throws IOException {
        server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext(
                "/",
                exchange -> {
                    String path = exchange.getRequestURI().getPath();
                    asked.add(path);
                    String answer = answers.get(path);
                    byte[] body = (answer == null ? "{}" : answer).getBytes(StandardCharsets.UTF_8);
                    exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
                    exchange.getResponseBody().write(body);
                    exchange.close();
                });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private Map<String, String> settings() {
        return Map.of("url", "http://127.0.0.1:" + server.getAddress().getPort());
    }

    private Schema register(int id, String schema) {
        String text = schema.replace('\'', '"');
        answers.put("/schemas/ids/" + id, "{\"schema\":\"" + text.replace("\"", "\\\"") + "\"}");
        return new Schema.Parser().parse(text);
    }

    private AvroDecoder decoder(String ddl) {
        return new AvroDecoder(ddl, settings());
    }

    private String reason(String ddl, byte[] data) {
        return new BytesToRow.Explain(decoder(ddl)).invoke(data).toString();
    }

    private static byte[] framed(int id, Schema schema, Object value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(0);
        out.writeBytes(ByteBuffer.allocate(4).putInt(id).array());
        BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
        try {
            new GenericDatumWriter<>(schema).write(value, encoder);
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
        return out.toByteArray();
    }

    /** AvroEncoder's argument. */
    private static String encoding(int id, String schema, String... references) {
        try {
            return new ObjectMapper()
                    .writeValueAsString(
                            Map.of("id", id, "schema", schema, "references", references));
        } catch (JsonProcessingException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static GenericRecord record(Schema schema, int a, String b) {
        return new GenericRecordBuilder(schema)
                .set("a", a)
                .set("skipped", List.of("x", "yz"))
                .set("b", b)
                .build();
    }

    @Test
    void aRecordIsNotBadBecauseItsTaskIsStopped() {
        Schema schema = register(1, RECORD);
        byte[] data = framed(1, schema, record(schema, 7, "x"));
        AvroDecoder decoder = decoder("a INT, b STRING");
        Thread.currentThread().interrupt();
        try {
            assertThrows(Error.class, () -> decoder.invoke(data));
        } finally {
            assertTrue(Thread.interrupted());
        }
        assertNotNull(decoder.invoke(data));
    }

    @Test
    void aSchemaIsAskedForOnceAndReadFromMemoryWhenTheRegistryIsAway() {
        Schema schema = register(1, "'long'");
        AvroDecoder first = decoder("=A BIGINT");
        assertEquals(3L, first.invoke(framed(1, schema, 3L)).getLong(0));
        assertEquals(4L, first.invoke(framed(1, schema, 4L)).getLong(0));
        AvroDecoder second = decoder("=A BIGINT");
        server.stop(0);
        assertEquals(5L, second.invoke(framed(1, schema, 5L)).getLong(0));
        assertEquals(List.of("/schemas/ids/1"), asked);
    }

    @Test
    void whatCannotBeNullHasItsDefault() {
        Schema schema =
                register(
                        3,
                        "{'type':'record','name':'R','fields':["
                                + "{'name':'a','type':'long','default':10},"
                                + "{'name':'b','type':['null','long'],'default':null}]}");
        AvroEncoder encoder =
                new AvroEncoder(
                        StructType.fromDDL("A BIGINT, B BIGINT"),
                        false,
                        encoding(3, schema.toString()));
        InternalRow row =
                decoder("A BIGINT, B BIGINT").invoke(encoder.invoke(new GenericInternalRow(2)));
        assertEquals(10L, row.getLong(0));
        assertTrue(row.isNullAt(1));
    }

    @Test
    void recordsOfUnknownSchemasAreNoRowsAndSayWhy() {
        Schema schema = new Schema.Parser().parse("\"long\"");
        byte[] data = framed(99, schema, 3L);
        assertNull(decoder("=A BIGINT").invoke(data));
        assertTrue(reason("=A BIGINT", data).contains("no schema with the id 99"));
        assertEquals(1, asked.size());
    }

    @Test
    void aRecordIsNotBadOnlyBecauseTheRegistryIsAway() {
        byte[] data = framed(100, new Schema.Parser().parse("\"long\""), 3L);
        server.stop(0);
        for (int i = 0; i < 2; i++) {
            Error away = assertThrows(Away.class, () -> decoder("=A BIGINT").invoke(data));
            String prefix = "[KSQL_REGISTRY_AWAY] The schema registry cannot be read: ";
            assertTrue(away.getMessage().startsWith(prefix), away.getMessage());
        }
    }

    @Test
    void writersOfSeveralVersionsAreReadAsTheColumns() {
        Schema one =
                register(11, "{'type':'record','name':'R','fields':[{'name':'a','type':'int'}]}");
        Schema two =
                register(
                        12,
                        "{'type':'record','name':'R','fields':[{'name':'b','type':'float'},"
                                + "{'name':'a','type':['null','long']}]}");
        AvroDecoder decoder = decoder("A BIGINT, B DOUBLE");
        byte[] old = framed(11, one, new GenericRecordBuilder(one).set("a", 1).build());
        byte[] newer =
                framed(12, two, new GenericRecordBuilder(two).set("a", 2L).set("b", 1.5f).build());
        for (int i = 0; i < 2; i++) {
            assertEquals(1L, decoder.invoke(old).getLong(0));
            assertTrue(decoder.invoke(old).isNullAt(1));
            assertEquals(2L, decoder.invoke(newer).getLong(0));
            assertEquals(1.5, decoder.invoke(newer).getDouble(1));
        }
    }

    @Test
    void referencesAreFetched() {
        answers.put(
                "/schemas/ids/4",
                "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"R\\\",\\\"fields\\\":"
                        + "[{\\\"name\\\":\\\"e\\\",\\\"type\\\":\\\"n.E\\\"}]}\",\"references\":"
                        + "[{\"name\":\"n.E\",\"subject\":\"o t\",\"version\":2}]}");
        answers.put(
                "/subjects/o t/versions/2",
                "{\"schema\":\"{\\\"type\\\":\\\"enum\\\",\\\"name\\\":\\\"n.E\\\","
                        + "\\\"symbols\\\":[\\\"X\\\",\\\"Y\\\"]}\"}");
        assertEquals("Y", decoder("E STRING").invoke(new byte[] {0, 0, 0, 0, 4, 2}).getString(0));
    }

    @Test
    void aSchemaIsWrittenWithThoseThatItRefersTo() {
        String e = "{\"type\":\"enum\",\"name\":\"n.E\",\"symbols\":[\"X\",\"Y\"]}";
        String inner =
                "{\"type\":\"record\",\"name\":\"n.I\",\"fields\":[{\"name\":\"E\",\"type\":\"n.E\"}]}";
        String outer =
                "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"I\",\"type\":\"n.I\"}]}";
        AvroEncoder encoder =
                new AvroEncoder(
                        StructType.fromDDL("I STRUCT<E: STRING>"),
                        false,
                        encoding(6, outer, e, inner));
        InternalRow row =
                new GenericInternalRow(
                        new Object[] {
                            new GenericInternalRow(new Object[] {UTF8String.fromString("Y")})
                        });
        assertArrayEquals(new byte[] {0, 0, 0, 0, 6, 2}, encoder.invoke(row));
    }

    @Test
    void aGuidNamesASchemaToo() {
        Schema schema = register(7, RECORD);
        String guid = "01234567-89ab-cdef-0123-456789abcdef";
        answers.put("/schemas/guids/" + guid, answers.remove("/schemas/ids/7"));
        byte[] byId = framed(7, schema, record(schema, 5, "é"));
        byte[] body = Arrays.copyOfRange(byId, Frame.BY_ID, byId.length);
        byte[] frame = HexFormat.of().parseHex("01" + guid.replace("-", ""));
        StructType types =
                StructType.fromDDL("v BINARY, h ARRAY<STRUCT<key: STRING, value: BINARY>>");
        Frame.FromHeader framed = new Frame.FromHeader("__value_schema_id", types);
        AvroDecoder decoder = decoder("A INT, B STRING");
        for (int i = 0; i < 2; i++) {
            byte[] data =
                    framed.invoke(
                            body, headers("other", body, "__value_schema_id", frame, "x", body));
            assertEquals("é", decoder.invoke(data).getString(1));
        }
        assertEquals(List.of("/schemas/guids/" + guid), asked);
        assertSame(body, framed.invoke(body, headers("__key_schema_id", frame)));
        assertArrayEquals(body, framed.invoke(body, headers("__value_schema_id", null)));
        assertNull(framed.invoke(null, headers("__value_schema_id", frame)));
        byte[] unknown = HexFormat.of().parseHex("01" + "00".repeat(16) + "08");
        assertEquals(
                "The schema registry has no schema with the GUID"
                        + " 00000000-0000-0000-0000-000000000000.",
                reason("A INT", unknown));
        byte[] truncated = HexFormat.of().parseHex("0101234567");
        assertEquals(
                "It does not start with a zero and the id of a schema.",
                reason("A INT", truncated));
    }

    private static ArrayData headers(Object... namesAndValues) {
        Object[] made = new Object[namesAndValues.length / 2];
        for (int i = 0; i < made.length; i++) {
            Object name = UTF8String.fromString((String) namesAndValues[2 * i]);
            made[i] = new GenericInternalRow(new Object[] {name, namesAndValues[2 * i + 1]});
        }
        return new GenericArrayData(made);
    }

    @Test
    void damagedRecordsAreNoRowsAndTakeNoMemory() {
        Schema schema = register(5, RECORD);
        byte[] good = framed(5, schema, record(schema, 5, "some text"));
        AvroDecoder decoder = decoder("A INT, SKIPPED ARRAY<STRING>, B STRING");
        assertNotNull(decoder.invoke(good));
        Random random = new Random(1);
        for (int i = 0; i < 100_000; i++) {
            byte[] bad = good.clone();
            for (int n = random.nextInt(3); n >= 0; n--) {
                bad[Frame.BY_ID + random.nextInt(bad.length - Frame.BY_ID)] =
                        (byte) random.nextInt();
            }
            decoder.invoke(java.util.Arrays.copyOf(bad, random.nextInt(bad.length + 1)));
        }
        byte[] huge = {0, 0, 0, 0, 5, 2, -2, -1, -1, -1, 15};
        assertNull(decoder.invoke(huge));
    }

    @Test
    void columnsAreWrittenByTheSchemaAndOtherFieldsHaveTheirDefaults() throws IOException {
        String text =
                "{'type':'record','name':'R','fields':[{'name':'x','type':'int','default':8},"
                                .replace('\'', '"')
                        + "{'name':'b','type':['null','string'],'default':null},".replace('\'', '"')
                        + "{'name':'A','type':'long'}]}".replace('\'', '"');
        AvroEncoder encoder =
                new AvroEncoder(StructType.fromDDL("A BIGINT, B STRING"), false, encoding(6, text));
        byte[] data =
                encoder.invoke(
                        new GenericInternalRow(new Object[] {4L, UTF8String.fromString("é")}));
        assertEquals(6, ByteBuffer.wrap(data).getInt(1));
        Schema schema = new Schema.Parser().parse(text);
        Object read =
                new GenericDatumReader<>(schema)
                        .read(
                                null,
                                DecoderFactory.get().binaryDecoder(data, 5, data.length - 5, null));
        assertEquals("{\"x\": 8, \"b\": \"é\", \"A\": 4}", read.toString());
        assertNull(Unwritable.reason(data));
        assertEquals(
                "A: The schema allows no NULL.",
                Unwritable.reason(
                        encoder.invoke(new GenericInternalRow(new Object[] {null, null}))));
        assertThrows(
                IllegalArgumentException.class,
                () -> new AvroEncoder(StructType.fromDDL("B STRING"), false, encoding(6, text)));
    }

    @Test
    void aBareNullIsANullRecord() {
        AvroEncoder encoder =
                new AvroEncoder(StructType.fromDDL("A BIGINT"), true, encoding(6, "\"long\""));
        assertNull(encoder.invoke(new GenericInternalRow(new Object[] {null})));
        assertFalse(encoder.invoke(new GenericInternalRow(new Object[] {1L})).length == 0);
    }

    @Test
    void whatDoesNotFitIsNamedWithItsFields() {
        String text =
                ("{'type':'record','name':'R','fields':[{'name':'r','type':{'type':'record','name':'S',"
                     + "'fields':[{'name':'e','type':{'type':'enum','name':'E',"
                     + "'symbols':['X']}}]}},{'name':'d','type':{'type':'bytes',"
                     + "'logicalType':'decimal','precision':4,'scale':1}}]}")
                        .replace('\'', '"');
        AvroEncoder encoder =
                new AvroEncoder(
                        StructType.fromDDL("R STRUCT<E: STRING>, D DECIMAL(4, 2)"),
                        false,
                        encoding(6, text));
        assertEquals(
                "r: e: The schema's enum E has no Z.",
                Unwritable.reason(encoded(encoder, "Z", "1")));
        assertTrue(
                Unwritable.reason(encoded(encoder, "X", "1.23")).startsWith("d: "),
                "of two digits");
        assertNull(Unwritable.reason(encoded(encoder, "X", "1.20")));
        assertNull(Unwritable.reason(null));
    }

    private static byte[] encoded(AvroEncoder encoder, String symbol, String number) {
        InternalRow inner = new GenericInternalRow(new Object[] {UTF8String.fromString(symbol)});
        Decimal decimal = Decimal.apply(new BigDecimal(number), 4, 2);
        return encoder.invoke(new GenericInternalRow(new Object[] {inner, decimal}));
    }
}
