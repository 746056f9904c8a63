import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.JsonDecoder;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import scala.runtime.AbstractPartialFunction;

/**
 * Serves look-ups of a table and a feed of a stream over a local socket, with the decoders of the queries.
 *
 * <pre>Reads INPUT.json</pre>
 *
 * The input names the socket, the brokers, the topic of a table or a stream in JSON, the columns of key and value
 * as Spark's DDL, and: for a table the folder of its RocksDB, or none to keep it in memory; for a stream its filter
 * as Spark SQL. It prints a line once everything that was in the topic can be looked up, or is skipped; then its
 * heap in MB, if it is to weigh it.
 *
 * <p>A request is its length, a number and the bytes of a key; an answer its length, the number and the lines of
 * ksqlDB's answer behind the query's id. A feed sends its rows as text, as answers with the number 0.
 */
public final class Reads {
  /** Rows by key. */
  private interface Store {
    void put(Object key, byte[] value);

    byte[] get(Object key);

    default long next() {
      return 0;
    }

    default void reached(long next) {}
  }

  /** A map of keys as their column has them. */
  private static final class Memory implements Store {
    private final Map<Object, byte[]> rows = new ConcurrentHashMap<>();

    @Override
    public void put(Object key, byte[] value) {
      if (value == null) {
        rows.remove(key);
      } else {
        rows.put(key, value);
      }
    }

    @Override
    public byte[] get(Object key) {
      return rows.get(key);
    }
  }

  /** A RocksDB that stays over restarts. */
  private static final class Rocks implements Store {
    private static final byte[] NEXT = {};
    private final RocksDB db;

    Rocks(String folder) throws RocksDBException {
      db = RocksDB.open(new Options().setCreateIfMissing(true), folder);
    }

    private static byte[] bytes(Object key) {
      return key instanceof Integer number
          ? ByteBuffer.allocate(4).putInt(number).array()
          : key.toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void put(Object key, byte[] value) {
      try {
        if (value == null) {
          db.delete(bytes(key));
        } else {
          db.put(bytes(key), value);
        }
      } catch (RocksDBException failed) {
        throw new IllegalStateException(failed);
      }
    }

    @Override
    public byte[] get(Object key) {
      try {
        return db.get(bytes(key));
      } catch (RocksDBException failed) {
        throw new IllegalStateException(failed);
      }
    }

    @Override
    public long next() {
      byte[] found = get("");
      return found == null ? 0 : ByteBuffer.wrap(found).getLong();
    }

    @Override
    public void reached(long next) {
      put("", ByteBuffer.allocate(8).putLong(next).array());
    }
  }

  private static final JsonFactory JSON = new JsonFactory();

  private final StructType key;
  private final StructType value;
  private final JsonDecoder keys;
  private final JsonDecoder values;
  private final ByteArrayBuilder text = new ByteArrayBuilder();

  private Reads(JsonNode input) {
    key = StructType.fromDDL(input.path("key").asText());
    value = StructType.fromDDL(input.path("value").asText());
    keys = new JsonDecoder("=" + input.path("key").asText());
    values = new JsonDecoder(input.path("value").asText());
  }

  /** Appends a row as the client gets it. */
  private void write(JsonGenerator json, InternalRow keyRow, InternalRow valueRow) throws IOException {
    json.writeStartArray();
    write(json, key, keyRow);
    write(json, value, valueRow);
    json.writeEndArray();
    json.writeRaw('\n');
  }

  private static void write(JsonGenerator json, StructType columns, InternalRow row) throws IOException {
    for (int i = 0; i < columns.size(); i++) {
      if (row.isNullAt(i)) {
        json.writeNull();
        continue;
      }
      switch (columns.fields()[i].dataType().typeName()) {
        case "integer" -> json.writeNumber(row.getInt(i));
        case "long" -> json.writeNumber(row.getLong(i));
        case "double" -> json.writeNumber(row.getDouble(i));
        case "boolean" -> json.writeBoolean(row.getBoolean(i));
        default -> {
          byte[] bytes = row.getUTF8String(i).getBytes();
          json.writeUTF8String(bytes, 0, bytes.length);
        }
      }
    }
  }

  private JsonGenerator generator() throws IOException {
    return JSON.createGenerator(text).setRootValueSeparator(null);
  }

  // ---- look-ups ------------------------------------------------------------------------------------------

  /** The lines of an answer; the client's side knows the query's id. */
  private byte[] answer(Store store, byte[] wanted, String head) throws IOException {
    text.reset();
    text.write(head.getBytes(StandardCharsets.UTF_8));
    InternalRow keyRow = keys.invoke(wanted);
    Object typed = keyRow.get(0, key.fields()[0].dataType());
    byte[] found = store.get(typed);
    InternalRow row = found == null ? null : values.invoke(found);
    if (row != null) {
      try (JsonGenerator json = generator()) {
        write(json, keyRow, row);
      }
    }
    return text.toByteArray();
  }

  private void serve(SocketChannel channel, Store store, String head) throws IOException {
    ByteBuffer in = ByteBuffer.allocate(1 << 16);
    ByteBuffer out = ByteBuffer.allocate(1 << 20);
    while (channel.read(in) >= 0) {
      in.flip();
      while (in.remaining() >= 8 && in.remaining() >= 4 + in.getInt(in.position())) {
        byte[] wanted = new byte[in.getInt() - 4];
        int number = in.getInt();
        in.get(wanted);
        frame(out, number, answer(store, wanted, head));
      }
      in.compact();
      send(channel, out);
    }
  }

  private static void frame(ByteBuffer out, int number, byte[] body) {
    out.putInt(4 + body.length).putInt(number).put(body);
  }

  private static void send(SocketChannel channel, ByteBuffer out) throws IOException {
    out.flip();
    while (out.hasRemaining()) {
      channel.write(out);
    }
    out.clear();
  }

  /** The topic's records go to the store. */
  private void put(Store store, ConsumerRecord<byte[], byte[]> record) {
    InternalRow keyRow = keys.invoke(record.key());
    if (keyRow != null) {
      store.put(keyRow.get(0, key.fields()[0].dataType()), record.value());
    }
  }

  // ---- feeds ---------------------------------------------------------------------------------------------

  /** A filter's generated code over the columns of key and value. */
  private BasePredicate filter(String sql) {
    Map<String, BoundReference> columns = new HashMap<>();
    for (StructType row : List.of(key, value)) {
      for (int i = 0; i < row.size(); i++) {
        DataType type = row.fields()[i].dataType();
        columns.put(row.fieldNames()[i], new BoundReference(columns.size(), type, true));
      }
    }
    Expression parsed = CatalystSqlParser$.MODULE$.parseExpression(sql);
    return Predicate$.MODULE$.create(
        parsed.transformUp(
            new AbstractPartialFunction<Expression, Expression>() {
              @Override
              public boolean isDefinedAt(Expression node) {
                return node instanceof UnresolvedAttribute;
              }

              @Override
              public Expression apply(Expression node) {
                return columns.get(((UnresolvedAttribute) node).name());
              }
            }));
  }

  private void feed(SocketChannel channel, ConsumerRecords<byte[], byte[]> records, BasePredicate filter)
      throws IOException {
    text.reset();
    try (JsonGenerator json = generator()) {
      for (ConsumerRecord<byte[], byte[]> record : records) {
        InternalRow keyRow = keys.invoke(record.key());
        InternalRow row = record.value() == null ? null : values.invoke(record.value());
        if (keyRow == null || row == null) {
          continue;
        }
        Object[] all = new Object[key.size() + value.size()];
        all[0] = keyRow.get(0, key.fields()[0].dataType());
        for (int i = 0; i < value.size(); i++) {
          all[i + 1] = row.isNullAt(i) ? null : row.get(i, value.fields()[i].dataType());
        }
        if (filter.eval(new GenericInternalRow(all))) {
          write(json, keyRow, row);
        }
      }
    }
    if (text.size() > 0) {
      ByteBuffer out = ByteBuffer.allocate(8 + text.size());
      frame(out, 0, text.toByteArray());
      send(channel, out);
    }
  }

  // ---- the program ---------------------------------------------------------------------------------------

  private static void follow(JsonNode input, long from, Consumer<ConsumerRecords<byte[], byte[]>> take) {
    Map<String, Object> settings =
        Map.of("bootstrap.servers", input.path("brokers").asText(), "enable.auto.commit", "false",
            "max.poll.records", "10000", "fetch.max.wait.ms", "100");
    TopicPartition topic = new TopicPartition(input.path("topic").asText(), 0);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(List.of(topic));
      long end = consumer.endOffsets(List.of(topic)).get(topic);
      consumer.seek(topic, from);
      boolean isReady = false;
      while (true) {
        if (!isReady && consumer.position(topic) >= end) {
          isReady = true;
          System.out.println("ready");
          if (input.has("weigh")) {
            System.gc();
            Runtime heap = Runtime.getRuntime();
            System.out.println((heap.totalMemory() - heap.freeMemory()) / 1e6);
          }
        }
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
        if (!records.isEmpty()) {
          take.accept(records);
        }
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    JsonNode input = new ObjectMapper().readTree(new File(arguments[0]));
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(input.path("socket").asText()));
    Reads reads = new Reads(input);
    if (input.has("filter")) {
      BasePredicate filter = reads.filter(input.path("filter").asText());
      SocketChannel channel = server.accept();
      follow(
          input,
          0,
          records -> {
            try {
              reads.feed(channel, records, filter);
            } catch (IOException closed) {
              System.exit(0);
            }
          });
      return;
    }
    Store store = input.has("folder") ? new Rocks(input.path("folder").asText()) : new Memory();
    Runnable serving =
        () -> {
          try {
            while (true) {
              new Reads(input).serve(server.accept(), store, input.path("head").asText());
            }
          } catch (IOException closed) {
            System.exit(0);
          }
        };
    for (int clients = 0; clients < 2; clients++) {
      Thread thread = new Thread(serving);
      thread.setDaemon(true);
      thread.start();
    }
    follow(
        input,
        store.next(),
        records -> {
          long next = 0;
          for (ConsumerRecord<byte[], byte[]> record : records) {
            reads.put(store, record);
            next = record.offset() + 1;
          }
          store.reached(next);
        });
  }
}
