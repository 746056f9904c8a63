import java.io.IOException;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The queries of throughput.py as one would write them for Kafka Streams: typed classes, Jackson.
 *
 * <pre>Bids BOOTSTRAP_SERVERS</pre>
 *
 * It is told by {@link Commands}, {@code QUERY OUTPUT_TOPIC STATE_FOLDER}, with a query of throughput.py.
 */
public final class Bids {

  public static final class Bid {
    public String auction;
    public long bidder;
    public long price;
    public String channel;
    public String url;
    public String extra;
  }

  public static final class Doubled {
    public String auction;
    public long bidder;
    public long doubled;
  }

  public static final class Totals {
    public long bids;
    public long total;

    /** A new one: Kafka Streams passes the old one on, too. */
    Totals plus(long moreBids, long more) {
      Totals sum = new Totals();
      sum.bids = bids + moreBids;
      sum.total = total + more;
      return sum;
    }
  }

  public static final class Auction {
    public String item;
    public long reserve;
  }

  public static final class SoldBid {
    public long bidder;
    public long price;
    public String item;
    public long reserve;
  }

  public static final class Order {
    public long number;
    public long price;
    public String item;
    public String extra;
  }

  public static final class Payment {
    public long number;
    public long paid;
    public String method;
    public String extra;
  }

  public static final class PaidOrder {
    public long number;
    public long price;
    public long paid;
    public String method;
  }

  public static void main(String[] arguments) throws IOException {
    Commands.run(
        line -> {
          String[] words = line.split(" ", 3);
          return query(words[0], arguments[0], words[1], words[2]);
        });
  }

  private static KafkaStreams query(String query, String servers, String output, String folder) {
    StreamsBuilder builder = new StreamsBuilder();
    switch (query) {
      case "stateless" ->
          bids(builder)
              .filter((key, bid) -> bid.price > 1000)
              .mapValues(Bids::doubled)
              .to(output, Produced.with(Serdes.String(), Json.of(Doubled.class)));
      case "by-key" ->
          total(
              bids(builder).groupByKey(Grouped.with(Serdes.String(), Json.of(Bid.class))), output);
      case "by-value" ->
          total(
              bids(builder)
                  .groupBy(
                      (key, bid) -> bid.auction, Grouped.with(Serdes.String(), Json.of(Bid.class))),
              output);
      case "two-steps" -> writeTotals(perPrefix(perAuction(builder), 2), Serdes.String(), output);
      case "three-steps" ->
          writeTotals(perPrefix(perPrefix(perAuction(builder), 2), 1), Serdes.String(), output);
      case "stream-table" ->
          soldBids(builder).to(output, Produced.with(Serdes.String(), Json.of(SoldBid.class)));
      case "join-by-value" ->
          writeTotals(
              soldBids(builder)
                  .groupBy(
                      (key, bid) -> bid.reserve,
                      Grouped.with(Serdes.Long(), Json.of(SoldBid.class)))
                  .aggregate(
                      Totals::new,
                      (key, bid, totals) -> totals.plus(1, bid.price),
                      stored(Serdes.Long())),
              Serdes.Long(),
              output);
      case "stream-stream" -> {
        KStream<String, Order> orders =
            builder.stream("orders", Consumed.with(Serdes.String(), Json.of(Order.class)));
        KStream<String, Payment> payments =
            builder.stream("payments", Consumed.with(Serdes.String(), Json.of(Payment.class)));
        Duration within = Duration.ofSeconds(10);
        Duration grace = Duration.ofSeconds(10);
        orders
            .join(
                payments,
                Bids::paid,
                JoinWindows.ofTimeDifferenceAndGrace(within, grace),
                StreamJoined.with(Serdes.String(), Json.of(Order.class), Json.of(Payment.class)))
            .to(output, Produced.with(Serdes.String(), Json.of(PaidOrder.class)));
      }
      default -> throw new IllegalArgumentException(query);
    }
    return Commands.onBacklog(builder, servers, output, folder);
  }

  private static KStream<String, Bid> bids(StreamsBuilder builder) {
    return builder.stream("bids", Consumed.with(Serdes.String(), Json.of(Bid.class)));
  }

  private static void total(KGroupedStream<String, Bid> bids, String output) {
    writeTotals(totals(bids), Serdes.String(), output);
  }

  private static KTable<String, Totals> totals(KGroupedStream<String, Bid> bids) {
    return bids.aggregate(
        Totals::new, (key, bid, totals) -> totals.plus(1, bid.price), stored(Serdes.String()));
  }

  private static <K> Materialized<K, Totals, KeyValueStore<Bytes, byte[]>> stored(Serde<K> keys) {
    return Materialized.with(keys, Json.of(Totals.class));
  }

  private static <K> void writeTotals(KTable<K, Totals> totals, Serde<K> keys, String output) {
    totals.toStream().to(output, Produced.with(keys, Json.of(Totals.class)));
  }

  private static KTable<String, Totals> perAuction(StreamsBuilder builder) {
    return totals(bids(builder).groupByKey(Grouped.with(Serdes.String(), Json.of(Bid.class))));
  }

  /** The totals of all keys that begin with the same characters. */
  private static KTable<String, Totals> perPrefix(KTable<String, Totals> totals, int length) {
    return totals
        .groupBy(
            (key, each) -> KeyValue.pair(key.substring(0, Math.min(length, key.length())), each),
            Grouped.with(Serdes.String(), Json.of(Totals.class)))
        .aggregate(
            Totals::new,
            (key, each, sum) -> sum.plus(each.bids, each.total),
            (key, each, sum) -> sum.plus(-each.bids, -each.total),
            stored(Serdes.String()));
  }

  private static KStream<String, SoldBid> soldBids(StreamsBuilder builder) {
    KTable<String, Auction> auctions =
        builder.table("auctions", Consumed.with(Serdes.String(), Json.of(Auction.class)));
    return bids(builder)
        .join(
            auctions,
            Bids::sold,
            Joined.with(Serdes.String(), Json.of(Bid.class), Json.of(Auction.class)));
  }

  private static Doubled doubled(Bid bid) {
    Doubled result = new Doubled();
    result.auction = bid.auction;
    result.bidder = bid.bidder;
    result.doubled = bid.price * 2;
    return result;
  }

  private static SoldBid sold(Bid bid, Auction auction) {
    SoldBid result = new SoldBid();
    result.bidder = bid.bidder;
    result.price = bid.price;
    result.item = auction.item;
    result.reserve = auction.reserve;
    return result;
  }

  private static PaidOrder paid(Order order, Payment payment) {
    PaidOrder result = new PaidOrder();
    result.number = order.number;
    result.price = order.price;
    result.paid = payment.paid;
    result.method = payment.method;
    return result;
  }
}
