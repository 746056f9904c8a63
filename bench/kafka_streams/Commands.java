import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.apache.kafka.streams.KafkaStreams;

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
}
