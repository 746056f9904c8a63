package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import io.confluent.ksql.schema.ksql.types.SqlType;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkFiles;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.log.FunctionFailures;
import org.ksqlspark.state.KeyedOperator;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A call of a function in a jar, as SQL text names it: a JSON text with the jar, the class, the
 * method and the SQL types (ksql_spark/functions/jars.py writes it).
 */
final class JarCall implements Serializable {
    private static final ObjectMapper JSON = new ObjectMapper();

    final String source;
    final String name;
    final StructType given;
    final DataType returned;

    /** The processing log and the query of the session in which it was bound; empty: none. */
    private final String log;

    private final String query;

    private transient JsonNode code;

    JarCall(String source, StructType given) {
        this.source = source;
        this.given = given;
        name = code().get("name").asText();
        returned = DataType.fromDDL(code().get("spark").asText());
        log = SQLConf.get().getConfString(KeyedOperator.LOG, "");
        query = SQLConf.get().getConfString(KeyedOperator.QUERY, "");
        if (SparkEnv.get() != null && !isFar() && !SparkContext.getOrCreate().isLocal()) {
            // executors may be on other machines
            SparkContext.getOrCreate().addFile(code().get("jar").asText());
        }
    }

    JsonNode code() {
        if (code == null) {
            try {
                code = JSON.readTree(source);
            } catch (IOException bad) {
                throw new IllegalArgumentException("no function in a jar: " + source, bad);
            }
        }
        return code;
    }

    /** Where this JVM has the jar. */
    Path jar() {
        Path path = Path.of(code().get("jar").asText());
        return isFar() ? Path.of(SparkFiles.get(path.getFileName().toString())) : path;
    }

    /** Whether this JVM is an executor's. */
    private static boolean isFar() {
        SparkEnv env = SparkEnv.get();
        return env != null && !env.executorId().equals("driver");
    }

    SqlType type(String member) {
        return TypeTree.read(code().get(member));
    }

    /** The types of the arguments. */
    List<SqlType> types() {
        List<SqlType> types = new ArrayList<>();
        code().get("types").forEach(type -> types.add(TypeTree.read(type)));
        return types;
    }

    boolean isAggregate() {
        return code().get("kind").asText().equals("AGGREGATE");
    }

    boolean isDeterministic() {
        return code().get("deterministic").asBoolean();
    }

    /** Writes to Spark's log that it failed for a row, and why. */
    void note(String error) {
        FunctionFailures.note(name, error);
    }

    /** Writes it to the processing log too. */
    void report(Throwable failure) {
        FunctionFailures.report(log, query, name, JarMethod.because(failure));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof JarCall that
                && source.equals(that.source)
                && given.equals(that.given);
    }

    @Override
    public int hashCode() {
        return source.hashCode();
    }
}
