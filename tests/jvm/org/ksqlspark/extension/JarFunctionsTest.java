package org.ksqlspark.extension;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.function.udaf.UdafDescription;
import io.confluent.ksql.function.udaf.UdafFactory;
import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ksqlspark.functions.FunctionTable;
import org.ksqlspark.state.StateLayout;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

final class JarFunctionsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String OF_SPARK = "org.ksqlspark.extension.JarFunctionsTest$";

    @TempDir Path folder;

    /** A scalar function with a counter of its own calls. */
    @UdfDescription(name = "counted", description = "Its own calls.")
    public static class Counted {
        private static int calls;

        @Udf
        public int counted(@UdfParameter("number") int number) {
            calls++;
            if (number < 0) {
                throw new IllegalArgumentException("a\n negative  number");
            }
            return calls;
        }

        @Udf
        protected int hidden(int number) {
            return number;
        }
    }

    /** A class that mentions an annotation but has no function. */
    @UdfDescription(name = "nothing", description = "")
    public static class Nothing {}

    /** An aggregate whose state it changes in place, also before it fails. */
    @UdafDescription(name = "collected", description = "All numbers.")
    public static class Collected {
        private Collected() {}

        @UdafFactory(description = "")
        public static Udaf<Long, List<Long>, Long> make() {
            return new Udaf<>() {
                @Override
                public List<Long> initialize() {
                    return new ArrayList<>();
                }

                @Override
                public List<Long> aggregate(Long value, List<Long> state) {
                    state.add(value);
                    if (value < 0) {
                        throw new IllegalStateException("negative");
                    }
                    return state;
                }

                @Override
                public List<Long> merge(List<Long> one, List<Long> other) {
                    one.addAll(other);
                    return one;
                }

                @Override
                public Long map(List<Long> state) {
                    return state.stream().mapToLong(Long::longValue).sum();
                }
            };
        }
    }

    private Path jar(String name) throws IOException {
        Path jar = folder.resolve(name);
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            for (String simple : List.of("Counted", "Nothing", "Collected", "Collected$1")) {
                String path = "org/ksqlspark/extension/JarFunctionsTest$" + simple + ".class";
                out.putNextEntry(new JarEntry(path));
                try (InputStream in = getClass().getClassLoader().getResourceAsStream(path)) {
                    in.transferTo(out);
                }
            }
        }
        return jar;
    }

    private static BoundFunction bound(String function, JsonNode code, String types) {
        FunctionTable table = new FunctionTable();
        JarFunctions.addTo(table);
        return table.find(function)
                .make(
                        new FunctionTable.Call(
                                function, code.toString(), StructType.fromDDL(types), null));
    }

    private static ObjectNode counted(Path jar) throws IOException {
        String code =
                """
                {"name": "COUNTED", "kind": "SCALAR", "method": "counted(int)", "types": ["INTEGER"],
                "returns": "INTEGER", "spark": "int", "deterministic": true}\
                """;
        return ((ObjectNode) JSON.readTree(code))
                .put("class", OF_SPARK + "Counted")
                .put("jar", jar.toString());
    }

    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    @Test
    void aJarHasItsOwnClasses() throws IOException {
        ScalarFunction<?> one = (ScalarFunction<?>) bound("jar", counted(jar("a.jar")), "a int");
        ScalarFunction<?> other = (ScalarFunction<?>) bound("jar", counted(jar("b.jar")), "a int");
        assertEquals(1, one.produceResult(row(5)));
        assertEquals(2, one.produceResult(row(5)));
        assertEquals(1, other.produceResult(row(5)));
        assertEquals(0, Counted.calls);
        assertNotSame(one, other);
    }

    @Test
    void aFailureIsARowsError() throws IOException {
        JsonNode code = counted(jar("a.jar"));
        assertNull(((ScalarFunction<?>) bound("jar", code, "a int")).produceResult(row(-1)));
        ScalarFunction<?> outcome = (ScalarFunction<?>) bound("jar_outcome", code, "a int");
        assertFalse(outcome.isDeterministic());
        InternalRow failed = (InternalRow) outcome.produceResult(row(-1));
        assertTrue(failed.isNullAt(0));
        assertEquals(
                "IllegalArgumentException: a negative number", failed.getUTF8String(1).toString());
        InternalRow missing = (InternalRow) outcome.produceResult(row((Object) null));
        assertEquals(
                "IllegalArgumentException: argument 1 is NULL, and the function takes int",
                missing.getUTF8String(1).toString());
        assertTrue(((InternalRow) outcome.produceResult(row(1))).isNullAt(1));
    }

    @Test
    @SuppressWarnings("unchecked")
    void anAggregatesStateIsKeptAsBytes() throws Exception {
        ObjectNode code =
                (ObjectNode)
                        JSON.readTree(
                                """
                                {"name": "COLLECTED", "kind": "AGGREGATE", "method": "make()",
                                "types": ["BIGINT"], "returns": "BIGINT", "spark": "bigint",
                                "aggregate": {"array": "BIGINT"}, "stored": "array<bigint>",
                                "initial": []}\
                                """);
        code.put("class", OF_SPARK + "Collected").put("jar", jar("a.jar").toString());
        BoundFunction made = bound("jar", code, "a bigint");
        assertEquals("COLLECTED of array<bigint>", made.name());
        AggregateFunction<JarFunctions.State, Object> function =
                (AggregateFunction<JarFunctions.State, Object>) made;
        StateLayout<JarFunctions.State> layout = (StateLayout<JarFunctions.State>) made;
        JarFunctions.State state = function.newAggregationState();
        assertEquals(0L, function.produceResult(state));
        state = function.update(state, row(2L));
        byte[] stored = layout.store(state);
        state = function.update(layout.restore(stored), row(-1L));
        assertEquals(2L, function.produceResult(state));
        assertArrayEquals(stored, layout.store(state));
        JarFunctions.State other = function.update(function.newAggregationState(), row(5L));
        assertEquals(7L, function.produceResult(function.merge(state, sent(other))));
    }

    private static JarFunctions.State sent(JarFunctions.State state) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(state);
        }
        try (ObjectInputStream in =
                new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (JarFunctions.State) in.readObject();
        }
    }

    @Test
    void aJarIsDescribed() throws IOException {
        JsonNode described = JarDescription.describe(jar("a.jar"));
        assertEquals(
                "[\"collected\",\"counted\"]",
                JSON.valueToTree(
                                described.get("functions").findValuesAsText("name").stream()
                                        .filter(name -> name.endsWith("ed"))
                                        .toList())
                        .toString());
        List<String> problems = new ArrayList<>();
        described.get("problems").forEach(problem -> problems.add(problem.asText()));
        assertEquals(
                List.of(
                        OF_SPARK + "Counted.hidden(int): the class and the method must be public",
                        OF_SPARK + "Nothing: it has no method with @Udf"),
                problems);
    }
}
