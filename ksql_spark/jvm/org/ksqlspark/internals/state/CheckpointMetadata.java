package org.ksqlspark.internals.state;

import org.apache.spark.sql.execution.streaming.state.RocksDBCheckpointMetadata;
import org.apache.spark.sql.execution.streaming.state.RocksDBCheckpointMetadata$;
import org.apache.spark.sql.execution.streaming.state.RocksDBLogFile;
import org.apache.spark.sql.execution.streaming.state.RocksDBSstFile;
import org.json4s.jackson.Serialization;

import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ManifestFactory$;

import java.util.List;

/**
 * What a checkpoint says of its files. To read it for the first time, json4s parses the signatures
 * that Scala's compiler has left in its classes. Tasks that begin together would each do that: with
 * 25 queries on two cores it took them two seconds.
 */
public final class CheckpointMetadata {
    static {
        Thread reader = new Thread(CheckpointMetadata::read, "checkpoint-metadata");
        reader.setDaemon(true);
        reader.start();
    }

    private CheckpointMetadata() {}

    /** Begins to read some, in a thread of its own, if that was not done yet. */
    public static void prepare() {
        // the class is initialized
    }

    /** Writes and reads an example; returns what was read. */
    static RocksDBCheckpointMetadata read() {
        RocksDBCheckpointMetadata example =
                RocksDBCheckpointMetadata$.MODULE$.apply(
                        seq(new RocksDBSstFile("a.sst", "a-1.sst", 1)),
                        seq(new RocksDBLogFile("a.log", "a-1.log", 1)),
                        1L);
        return Serialization.read(
                example.json(),
                RocksDBCheckpointMetadata$.MODULE$.format(),
                ManifestFactory$.MODULE$.classType(RocksDBCheckpointMetadata.class));
    }

    private static <T> Seq<T> seq(T one) {
        return List$.MODULE$.from(CollectionConverters.asScala(List.of(one)));
    }
}
