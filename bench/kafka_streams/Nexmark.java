import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Some queries of Nexmark as one would write them for Kafka Streams: typed classes, Jackson.
 *
 * <pre>Nexmark BOOTSTRAP_SERVERS</pre>
 *
 * It is told by {@link Commands}, {@code QUERY OUTPUT_TOPIC STATE_FOLDER}.
 */
public final class Nexmark {

  public static final class Person {
    public long id;
    public String name;
    public String city;
    public String state;
  }

  public static final class Auction {
    public long id;
    public long seller;
    public long category;
  }

  public static final class Bid {
    public long auction;
    public long bidder;
    public long price;
    public long dateTime;
    public String extra;
  }

  public static final class Sale {
    public long seller;
    public String name;
    public String city;
    public String state;
    public long id;
  }

  /** The auctions with the most bids of a window. */
  public static final class Hottest {
    public long starts;
    public long bids;
    public List<Long> auctions = new ArrayList<>();
  }

  public static final class NewSeller {
    public long id;
    public String name;
    public long starts;
  }

  public static final class Session {
    public long bidder;
    public long bids;
    public long starts;
    public long ends;
  }

  public static final class AuctionAndDay {
    public long auction;
    public String day;
  }

  public static final class Statistics {
    public long total_bids;
    public long rank1_bids;
    public long rank2_bids;
    public long rank3_bids;
    public long min_price = Long.MAX_VALUE;
    public long max_price;
    public double avg_price;
    public long sum_price;
  }

  /** How late rows may come in a topic. */
  private static final Duration LATENESS = Duration.ofSeconds(1);

  /** After a repartition, rows of two partitions come as far apart as the tasks that wrote them. */
  private static final Duration APART = Duration.ofHours(1);

  private static final Duration TEN = Duration.ofSeconds(10);

  public static void main(String[] arguments) throws IOException {
    Commands.run(
        line -> {
          String[] words = line.split(" ", 3);
          StreamsBuilder builder = new StreamsBuilder();
          build(words[0], builder, words[1]);
          return Commands.onBacklog(builder, arguments[0], words[1], words[2]);
        });
  }

  private static void build(String query, StreamsBuilder builder, String output) {
    switch (query) {
      case "q0" ->
          read(builder, "bid", Bid.class)
              .to(output, Produced.with(Serdes.Long(), Json.of(Bid.class)));
      case "q3" -> sales(builder).to(output, Produced.with(Serdes.Long(), Json.of(Sale.class)));
      case "q5" ->
          hottest(builder).to(output, Produced.with(Serdes.Long(), Json.of(Hottest.class)));
      case "q8" ->
          newSellers(builder).to(output, Produced.with(Serdes.Long(), Json.of(NewSeller.class)));
      case "q11" ->
          sessions(builder).to(output, Produced.with(Serdes.String(), Json.of(Session.class)));
      case "q17" ->
          statistics(builder)
              .to(
                  output,
                  Produced.with(Json.of(AuctionAndDay.class), Json.of(Statistics.class)));
      default -> throw new IllegalArgumentException(query);
    }
  }

  private static <T> KStream<Long, T> read(StreamsBuilder builder, String topic, Class<T> type) {
    return builder.stream(topic, Consumed.with(Serdes.Long(), Json.of(type)));
  }

  private static KStream<Long, Sale> sales(StreamsBuilder builder) {
    KTable<Long, Person> persons =
        read(builder, "person", Person.class)
            .filter((id, person) -> List.of("OR", "ID", "CA").contains(person.state))
            .toTable(Materialized.with(Serdes.Long(), Json.of(Person.class)));
    return read(builder, "auction", Auction.class)
        .filter((id, auction) -> auction.category == 10)
        .toTable(Materialized.with(Serdes.Long(), Json.of(Auction.class)))
        .join(
            persons,
            auction -> auction.seller,
            Nexmark::sale,
            Materialized.with(Serdes.Long(), Json.of(Sale.class)))
        .toStream()
        .filter((id, sale) -> sale != null)
        .selectKey((id, sale) -> sale.seller);
  }

  private static Sale sale(Auction auction, Person person) {
    Sale result = new Sale();
    result.seller = auction.seller;
    result.name = person.name;
    result.city = person.city;
    result.state = person.state;
    result.id = auction.id;
    return result;
  }

  private static KStream<Long, Hottest> hottest(StreamsBuilder builder) {
    return read(builder, "bid", Bid.class)
        .groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(TEN, LATENESS).advanceBy(Duration.ofSeconds(2)))
        .count(Materialized.with(Serdes.Long(), Serdes.Long()))
        .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))
        .toStream()
        .map((window, bids) -> KeyValue.pair(window.window().start(), counted(window, bids)))
        .groupByKey(Grouped.with(Serdes.Long(), Json.of(Hottest.class)))
        .reduce(
            Nexmark::hotter,
            Materialized.<Long, Hottest, KeyValueStore<Bytes, byte[]>>as("hottest")
                .withKeySerde(Serdes.Long())
                .withValueSerde(Json.of(Hottest.class)))
        .toStream();
  }

  private static Hottest counted(Windowed<Long> window, long bids) {
    Hottest result = new Hottest();
    result.starts = window.window().start();
    result.bids = bids;
    result.auctions.add(window.key());
    return result;
  }

  private static Hottest hotter(Hottest most, Hottest next) {
    if (next.bids > most.bids) {
      return next;
    }
    if (next.bids == most.bids) {
      most.auctions.addAll(next.auctions);
    }
    return most;
  }

  private static KStream<Long, NewSeller> newSellers(StreamsBuilder builder) {
    TimeWindows windows = TimeWindows.ofSizeAndGrace(TEN, APART);
    KTable<Windowed<Long>, Long> sellers =
        read(builder, "auction", Auction.class)
            .map((id, auction) -> KeyValue.pair(auction.seller, id))
            .groupByKey(Grouped.with(Serdes.Long(), Serdes.Long()))
            .windowedBy(windows)
            .reduce((first, next) -> first, stored("sellers", Long.class));
    return read(builder, "person", Person.class)
        .groupByKey()
        .windowedBy(windows)
        .reduce((first, next) -> first, stored("persons", Person.class))
        .join(sellers, (person, auction) -> person)
        .toStream()
        .map((window, person) -> KeyValue.pair(person.id, newSeller(window, person)));
  }

  private static <T> Materialized<Long, T, WindowStore<Bytes, byte[]>> stored(
      String name, Class<T> type) {
    return Materialized.<Long, T, WindowStore<Bytes, byte[]>>as(name)
        .withKeySerde(Serdes.Long())
        .withValueSerde(Json.of(type));
  }

  private static NewSeller newSeller(Windowed<Long> window, Person person) {
    NewSeller result = new NewSeller();
    result.id = person.id;
    result.name = person.name;
    result.starts = window.window().start();
    return result;
  }

  /** Each change of a session; as they close, they would be wrong, for LATENESS ends too early. */
  private static KStream<String, Session> sessions(StreamsBuilder builder) {
    return read(builder, "bid", Bid.class)
        .map((auction, bid) -> KeyValue.pair(bid.bidder, 1L))
        .groupByKey(Grouped.with(Serdes.Long(), Serdes.Long()))
        .windowedBy(SessionWindows.ofInactivityGapAndGrace(TEN, APART))
        .count(
            Materialized.<Long, Long, SessionStore<Bytes, byte[]>>as("sessions")
                .withKeySerde(Serdes.Long())
                .withValueSerde(Serdes.Long()))
        .toStream()
        .map(
            (window, bids) ->
                KeyValue.pair(
                    window.key() + " " + window.window().start(),
                    bids == null ? null : session(window, bids)));
  }

  private static Session session(Windowed<Long> window, long bids) {
    Session result = new Session();
    result.bidder = window.key();
    result.bids = bids;
    result.starts = window.window().start();
    result.ends = window.window().end();
    return result;
  }

  private static KStream<AuctionAndDay, Statistics> statistics(StreamsBuilder builder) {
    return read(builder, "bid", Bid.class)
        .map((auction, bid) -> KeyValue.pair(day(bid), bid))
        .groupByKey(Grouped.with(Json.of(AuctionAndDay.class), Json.of(Bid.class)))
        .aggregate(
            Statistics::new,
            Nexmark::add,
            Materialized.<AuctionAndDay, Statistics, KeyValueStore<Bytes, byte[]>>as("statistics")
                .withKeySerde(Json.of(AuctionAndDay.class))
                .withValueSerde(Json.of(Statistics.class)))
        .toStream();
  }

  private static AuctionAndDay day(Bid bid) {
    AuctionAndDay result = new AuctionAndDay();
    result.auction = bid.auction;
    result.day = LocalDate.ofInstant(Instant.ofEpochMilli(bid.dateTime), ZoneOffset.UTC).toString();
    return result;
  }

  private static Statistics add(AuctionAndDay key, Bid bid, Statistics found) {
    found.total_bids++;
    found.rank1_bids += bid.price < 10_000 ? 1 : 0;
    found.rank2_bids += bid.price >= 10_000 && bid.price < 1_000_000 ? 1 : 0;
    found.rank3_bids += bid.price >= 1_000_000 ? 1 : 0;
    found.min_price = Math.min(found.min_price, bid.price);
    found.max_price = Math.max(found.max_price, bid.price);
    found.sum_price += bid.price;
    found.avg_price = (double) found.sum_price / found.total_bids;
    return found;
  }
}
