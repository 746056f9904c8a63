package org.ksqlspark.internals.kafka;

import org.apache.hadoop.shaded.com.google.re2j.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import org.apache.spark.sql.kafka010.SubscribePatternStrategy;

import scala.jdk.javaapi.CollectionConverters;

import java.lang.reflect.Field;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

/**
 * The topics whose names match a user's pattern, for Spark's source. Spark matches with Java's
 * engine, which may take years for one name; RE2's takes time that grows with the name.
 */
public final class MatchedTopics extends SubscribePatternStrategy {
    private static final long serialVersionUID = 1;

    private final transient Pattern whole;
    private final transient Pattern never;

    /**
     * @param whole what the whole name has to match
     * @param never what the whole name must not match
     */
    MatchedTopics(String whole, String never) {
        super(whole);
        this.whole = Pattern.compile(whole);
        this.never = Pattern.compile(never);
    }

    /** Gives a stream that Spark has made these topics in place of those of Spark's own engine. */
    public static void give(MicroBatchStream stream, String whole, String never) {
        try {
            Field field = KafkaOffsetReaderAdmin.class.getDeclaredField("consumerStrategy");
            field.setAccessible(true);
            field.set(
                    ((KafkaMicroBatchStream) stream).kafkaOffsetReader(),
                    new MatchedTopics(whole, never));
        } catch (ReflectiveOperationException isOther) {
            throw new IllegalStateException(isOther);
        }
    }

    boolean matches(String topic) {
        return whole.matches(topic) && !never.matches(topic);
    }

    @Override
    public scala.collection.immutable.Set<TopicPartition> assignedTopicPartitions(Admin admin) {
        try {
            Set<String> found =
                    admin.listTopics().names().get().stream()
                            .filter(this::matches)
                            .collect(Collectors.toSet());
            return retrieveAllPartitions(
                    admin,
                    scala.collection.immutable.Set.from(CollectionConverters.asScala(found)));
        } catch (ExecutionException failed) {
            throw new IllegalStateException(failed.getCause());
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(stopped);
        }
    }
}
