import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.function.Function;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/**
 * Runs one query after another in one process, so that its JVM stays warm.
 *
 * <p>Each line of standard input starts one, an empty line stops it. Each line is answered by one
 * line. The process ends with standard input.
 */
final class Commands {

  private Commands() {}

  /** Runs what the lines say; a query is made of its line. */
  static void run(Function<String, KafkaStreams> queries) throws IOException {
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    KafkaStreams running = null;
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      if (running != null) {
        running.close();
        running = null;
      }
      if (!line.isEmpty()) {
        running = queries.apply(line);
        running.start();
      }
      System.out.println(line.isEmpty() ? "stopped" : "started");
    }
    if (running != null) {
      running.close();
    }
  }

  /**
   * A query over a backlog, with a thread for each of two partitions. The cache that merges updates
   * is off: every record gives an update, as in KSQL's changelogs here.
   */
  static KafkaStreams onBacklog(
      StreamsBuilder builder, String servers, String output, String folder) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, output);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    properties.put(StreamsConfig.producerPrefix("linger.ms"), 5);
    properties.put(StreamsConfig.producerPrefix("batch.size"), 131072);
    return new KafkaStreams(builder.build(), properties);
  }
}
