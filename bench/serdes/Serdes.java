import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.TimestampProto;
import com.sun.management.OperatingSystemMXBean;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.AvroDecoder;
import org.ksqlspark.formats.AvroEncoder;
import org.ksqlspark.formats.JsonDecoder;
import org.ksqlspark.formats.JsonEncoder;
import org.ksqlspark.formats.ProtobufDecoder;
import org.ksqlspark.formats.ProtobufEncoder;

/**
 * Our decoders and encoders, and serdes as one writes them for Kafka Streams: Avro's generic records,
 * Protobuf's dynamic messages, Jackson's trees. Both read the same records and write what they have read.
 *
 * <pre>Serdes INPUT.json ROUNDS</pre>
 *
 * They take turns in one JVM; the best round of each counts, by the CPU time of the whole process, which has the
 * garbage collector's too. It prints a line for each format.
 */
public final class Serdes {
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  /** Reads all records, or writes all that was read. */
  private interface Side {
    Object read(byte[] data);

    byte[] write(Object value);
  }

  private static Side ours(JsonNode format, Map<String, String> registry) {
    String ddl = format.path("ddl").asText();
    String encode = format.path("encode").asText();
    StructType row = StructType.fromDDL(ddl);
    switch (format.path("name").asText()) {
      case "AVRO": {
        AvroDecoder decoder = new AvroDecoder(ddl, registry);
        AvroEncoder encoder = new AvroEncoder(row, false, encode);
        return side(decoder::invoke, encoder::invoke);
      }
      case "JSON_SR": {
        JsonDecoder decoder = new JsonDecoder(ddl, true);
        JsonEncoder encoder = new JsonEncoder(row, false, "0000000001");
        return side(decoder::invoke, encoder::invoke);
      }
      case "JSON": {
        JsonDecoder decoder = new JsonDecoder(ddl);
        JsonEncoder encoder = new JsonEncoder(row, false, "");
        return side(decoder::invoke, encoder::invoke);
      }
      default: {
        ProtobufDecoder decoder = new ProtobufDecoder(format.path("decode").asText(), registry);
        ProtobufEncoder encoder = new ProtobufEncoder(row, encode);
        return side(decoder::invoke, encoder::invoke);
      }
    }
  }

  private interface Decode {
    InternalRow decode(byte[] data);
  }

  private interface Encode {
    byte[] encode(InternalRow row);
  }

  private static Side side(Decode decode, Encode encode) {
    return new Side() {
      @Override
      public Object read(byte[] data) {
        return decode.decode(data);
      }

      @Override
      public byte[] write(Object value) {
        return encode.encode((InternalRow) value);
      }
    };
  }

  private static <T> Side side(Serde<T> serde) {
    Serializer<T> serializer = serde.serializer();
    Deserializer<T> deserializer = serde.deserializer();
    return new Side() {
      @Override
      public Object read(byte[] data) {
        return deserializer.deserialize("topic", data);
      }

      @Override
      @SuppressWarnings("unchecked")
      public byte[] write(Object value) {
        return serializer.serialize("topic", (T) value);
      }
    };
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] whole = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, whole, first.length, second.length);
    return whole;
  }

  // ---- serdes for Kafka Streams ---------------------------------------------------------------------

  private static Side streams(JsonNode format) throws Exception {
    switch (format.path("name").asText()) {
      case "AVRO":
        return side(new AvroSerde(format.path("id").asInt(), format.path("schema").asText()));
      case "PROTOBUF":
        return side(new ProtobufSerde(format.path("id").asInt()));
      case "PROTOBUF_NOSR":
        return side(new ProtobufSerde(-1));
      case "JSON_SR":
        return side(new JsonSerde(5));
      default:
        return side(new JsonSerde(0));
    }
  }

  /** Behind a frame; schemas by id in a map, as Confluent's serdes have them. */
  private static final class AvroSerde implements Serde<GenericRecord> {
    private final int id;
    private final Map<Integer, GenericDatumReader<GenericRecord>> readers = new HashMap<>();
    private final GenericDatumWriter<GenericRecord> writer;
    private BinaryDecoder in;
    private BinaryEncoder out;

    AvroSerde(int id, String text) {
      Schema schema = new Schema.Parser().parse(text);
      this.id = id;
      readers.put(id, new GenericDatumReader<>(schema));
      writer = new GenericDatumWriter<>(schema);
    }

    @Override
    public Deserializer<GenericRecord> deserializer() {
      return (topic, data) -> {
        int written = ByteBuffer.wrap(data).getInt(1);
        in = DecoderFactory.get().binaryDecoder(data, 5, data.length - 5, in);
        try {
          return readers.get(written).read(null, in);
        } catch (IOException bad) {
          throw new UncheckedIOException(bad);
        }
      };
    }

    @Override
    public Serializer<GenericRecord> serializer() {
      return (topic, record) -> {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
        bytes.write(0);
        bytes.writeBytes(ByteBuffer.allocate(4).putInt(id).array());
        out = EncoderFactory.get().directBinaryEncoder(bytes, out);
        try {
          writer.write(record, out);
        } catch (IOException bad) {
          throw new UncheckedIOException(bad);
        }
        return bytes.toByteArray();
      };
    }
  }

  /** Behind a frame and the index of the first message; with id -1 without both. */
  private static final class ProtobufSerde implements Serde<DynamicMessage> {
    private final Map<Integer, Descriptors.Descriptor> descriptors = new HashMap<>();
    private final byte[] frame;

    ProtobufSerde(int id) throws Descriptors.DescriptorValidationException {
      descriptors.put(id, descriptor());
      frame = id < 0 ? new byte[0] : ByteBuffer.allocate(6).put((byte) 0).putInt(id).put((byte) 0).array();
    }

    private static FieldDescriptorProto field(String name, int number, Type type, String message) {
      FieldDescriptorProto.Builder made =
          FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type);
      if (name.equals("TAGS")) {
        made.setLabel(Label.LABEL_REPEATED);
      }
      return (message == null ? made : made.setTypeName(message)).build();
    }

    private static Descriptors.Descriptor descriptor() throws Descriptors.DescriptorValidationException {
      Descriptors.FileDescriptor decimal =
          Descriptors.FileDescriptor.buildFrom(
              FileDescriptorProto.newBuilder()
                  .setName("decimal.proto")
                  .setPackage("confluent.type")
                  .setSyntax("proto3")
                  .addMessageType(
                      DescriptorProto.newBuilder()
                          .setName("Decimal")
                          .addField(field("value", 1, Type.TYPE_BYTES, null))
                          .addField(field("precision", 2, Type.TYPE_UINT32, null))
                          .addField(field("scale", 3, Type.TYPE_INT32, null)))
                  .build(),
              new Descriptors.FileDescriptor[0]);
      DescriptorProto place =
          DescriptorProto.newBuilder()
              .setName("Place")
              .addField(field("CITY", 1, Type.TYPE_STRING, null))
              .addField(field("ZIP", 2, Type.TYPE_INT32, null))
              .build();
      DescriptorProto row =
          DescriptorProto.newBuilder()
              .setName("Row")
              .addNestedType(place)
              .addField(field("ID", 1, Type.TYPE_INT64, null))
              .addField(field("NAME", 2, Type.TYPE_STRING, null))
              .addField(field("PRICE", 3, Type.TYPE_DOUBLE, null))
              .addField(field("IS_NEW", 4, Type.TYPE_BOOL, null))
              .addField(field("AT", 5, Type.TYPE_MESSAGE, ".google.protobuf.Timestamp"))
              .addField(field("AMOUNT", 6, Type.TYPE_MESSAGE, ".confluent.type.Decimal"))
              .addField(field("TAGS", 7, Type.TYPE_STRING, null))
              .addField(field("PLACE", 8, Type.TYPE_MESSAGE, ".Row.Place"))
              .build();
      return Descriptors.FileDescriptor.buildFrom(
              FileDescriptorProto.newBuilder()
                  .setName("row.proto")
                  .setSyntax("proto3")
                  .addDependency("google/protobuf/timestamp.proto")
                  .addDependency("decimal.proto")
                  .addMessageType(row)
                  .build(),
              new Descriptors.FileDescriptor[] {TimestampProto.getDescriptor(), decimal})
          .findMessageTypeByName("Row");
    }

    @Override
    public Deserializer<DynamicMessage> deserializer() {
      return (topic, data) -> {
        int id = frame.length == 0 ? -1 : ByteBuffer.wrap(data).getInt(1);
        try {
          CodedInputStream in = CodedInputStream.newInstance(data, frame.length, data.length - frame.length);
          return DynamicMessage.parseFrom(descriptors.get(id), in);
        } catch (IOException bad) {
          throw new UncheckedIOException(bad);
        }
      };
    }

    @Override
    public Serializer<DynamicMessage> serializer() {
      return (topic, message) -> joined(frame, message.toByteArray());
    }
  }

  private static final class JsonSerde implements Serde<JsonNode> {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final int skipped;

    JsonSerde(int skipped) {
      this.skipped = skipped;
    }

    @Override
    public Deserializer<JsonNode> deserializer() {
      return (topic, data) -> {
        try {
          return JSON.readTree(data, skipped, data.length - skipped);
        } catch (IOException bad) {
          throw new UncheckedIOException(bad);
        }
      };
    }

    @Override
    public Serializer<JsonNode> serializer() {
      byte[] frame = new byte[skipped];
      return (topic, tree) -> {
        try {
          byte[] made = JSON.writeValueAsBytes(tree);
          return skipped == 0 ? made : joined(frame, made);
        } catch (IOException bad) {
          throw new UncheckedIOException(bad);
        }
      };
    }
  }

  // ---- measuring --------------------------------------------------------------------------------------

  private static long sink;

  /** CPU nanoseconds for a record: read, written. */
  private static double[] round(Side side, List<byte[]> records, int times) {
    Object[] values = new Object[records.size()];
    long started = PROCESS.getProcessCpuTime();
    for (int n = 0; n < times; n++) {
      for (int i = 0; i < values.length; i++) {
        values[i] = side.read(records.get(i));
      }
    }
    long between = PROCESS.getProcessCpuTime();
    for (int n = 0; n < times; n++) {
      for (Object value : values) {
        sink += side.write(value).length;
      }
    }
    double count = (double) values.length * times;
    return new double[] {(between - started) / count, (PROCESS.getProcessCpuTime() - between) / count};
  }

  public static void main(String[] arguments) throws Exception {
    JsonNode input = new ObjectMapper().readTree(new File(arguments[0]));
    int rounds = Integer.parseInt(arguments[1]);
    Map<String, String> registry = Map.of("url", input.path("registry").asText());
    Map<String, Side[]> sides = new LinkedHashMap<>();
    Map<String, List<byte[]>> records = new HashMap<>();
    for (JsonNode format : input.path("formats")) {
      String name = format.path("name").asText();
      sides.put(name, new Side[] {ours(format, registry), streams(format)});
      List<byte[]> own = new ArrayList<>();
      for (JsonNode record : format.path("records")) {
        own.add(record.binaryValue());
      }
      records.put(name, own);
      for (Side side : sides.get(name)) {
        if (!own.stream().allMatch(record -> isSame(side, record))) {
          throw new IllegalStateException(name + " is not read or not written as it was");
        }
      }
    }
    Map<String, double[][]> best = new LinkedHashMap<>();
    for (int round = 0; round < rounds; round++) {
      for (Map.Entry<String, Side[]> format : sides.entrySet()) {
        double[][] own = best.computeIfAbsent(format.getKey(), name -> new double[2][]);
        for (int n = 0; n < 2; n++) {
          // in turn: ours first in one round, second in the next
          int at = (n + round) % 2;
          double[] found = round(format.getValue()[at], records.get(format.getKey()), 40);
          if (own[at] == null) {
            own[at] = new double[] {Double.MAX_VALUE, Double.MAX_VALUE};
          } else { // the first round warms up
            own[at][0] = Math.min(own[at][0], found[0]);
            own[at][1] = Math.min(own[at][1], found[1]);
          }
        }
      }
    }
    double[] json = best.get("JSON")[0];
    System.out.printf(
        "%-15s%13s%13s%13s%15s%15s%9s%9s%n",
        "format", "read/s", "written/s", "both/s", "Streams read", "Streams both", "times", "of JSON");
    best.forEach(
        (name, found) -> {
          double both = found[0][0] + found[0][1];
          double streams = found[1][0] + found[1][1];
          System.out.printf(
              "%-15s%,13.0f%,13.0f%,13.0f%,15.0f%,15.0f%9.2f%9.2f%n",
              name, 1e9 / found[0][0], 1e9 / found[0][1], 1e9 / both, 1e9 / found[1][0], 1e9 / streams,
              streams / both, (json[0] + json[1]) / both);
        });
  }

  /** Whether a record is about as long as it was once it was read and written; JSON's numbers may differ. */
  private static boolean isSame(Side side, byte[] record) {
    return Math.abs(side.write(side.read(record)).length - record.length) <= 8;
  }
}
