import java.io.IOException;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;

/**
 * The joins of out_of_order.py in Kafka Streams, with its settings as they come.
 *
 * <pre>Joins BOOTSTRAP_SERVERS</pre>
 *
 * It is told by {@link Commands}, {@code KIND LEFT_TOPIC RIGHT_TOPIC OUTPUT_TOPIC STATE_FOLDER}. A result's
 * value is that of the left side, a bar, and that of the right one, empty where there is none.
 */
public final class Joins {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  public static void main(String[] arguments) throws IOException {
    Commands.run(line -> join(arguments[0], line.split(" ", 5)));
  }

  private static KafkaStreams join(String servers, String[] words) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, words[3]);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, words[4]);
    properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");

    StreamsBuilder builder = new StreamsBuilder();
    Consumed<Long, String> consumed = Consumed.with(Serdes.Long(), Serdes.String());
    KStream<Long, String> left = builder.stream(words[1], consumed);
    KStream<Long, String> right = builder.stream(words[2], consumed);
    ValueJoiner<String, String, String> both = (l, r) -> text(l) + "|" + text(r);
    ValueJoiner<String, String, String> swapped = (r, l) -> text(l) + "|" + text(r);
    JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(MINUTE, MINUTE);
    StreamJoined<Long, String, String> serdes =
        StreamJoined.with(Serdes.Long(), Serdes.String(), Serdes.String());
    KStream<Long, String> joined =
        switch (words[0]) {
          case "INNER" -> left.join(right, both, windows, serdes);
          case "LEFT" -> left.leftJoin(right, both, windows, serdes);
          case "RIGHT" -> right.leftJoin(left, swapped, windows, serdes);
          case "FULL" -> left.outerJoin(right, both, windows, serdes);
          default -> throw new IllegalArgumentException(words[0]);
        };
    joined.to(words[3], Produced.with(Serdes.Long(), Serdes.String()));
    return new KafkaStreams(builder.build(), properties);
  }

  private static String text(String value) {
    return value == null ? "" : value;
  }
}
