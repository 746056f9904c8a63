package org.ksqlspark.python;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ksqlspark.state.StateLayout;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** PythonFunctions and PythonWorker, with a real Python process. */
class PythonFunctionsTest {
    private static final String SOURCE =
            """
            from ksql_spark.udf import scalar_function

            @scalar_function
            def halved(value: int) -> float:
                "Half of it."
                if value == 13:
                    raise ValueError("unlucky")
                return value / 2
            """;
    private static final StructType ARGUMENTS =
            new StructType().add("value", DataTypes.IntegerType);

    @TempDir Path folder;

    @AfterEach
    void endWorkers() {
        PythonWorker.end(folder.toString());
    }

    private PythonFunctions.Signature signature(String name, String kind) throws IOException {
        Path file = folder.resolve("functions.py");
        Files.writeString(file, SOURCE);
        Map<String, Object> source = new TreeMap<>();
        source.put("file", file.toString());
        source.put("folder", folder.toString());
        source.put("python", System.getProperty("ksql.python"));
        source.put("path", System.getProperty("ksql.root"));
        source.put("name", name);
        source.put("kind", kind);
        source.put("deterministic", true);
        source.put("returns", "DOUBLE");
        source.put("parameters", 1);
        return new PythonFunctions.Signature(
                new ObjectMapper().writeValueAsString(source), ARGUMENTS);
    }

    private static InternalRow row(Object value) {
        return new GenericInternalRow(new Object[] {value});
    }

    @Test
    void aBatchGoesToPythonAndBackInItsOrder() throws IOException {
        List<UnsafeRow> results =
                PythonWorker.call(signature("HALVED", "SCALAR"), List.of(row(1), row(4)));
        assertEquals(2, results.size());
        assertEquals(0.5, results.get(0).getDouble(0));
        assertEquals(2.0, results.get(1).getDouble(0));
        assertTrue(results.get(0).isNullAt(1), "no error");
    }

    @Test
    void aRowThatFailsSaysSoAndTheOthersDoNot() throws IOException {
        PythonFunctions.Signature function = signature("HALVED", "SCALAR");
        List<UnsafeRow> results = PythonWorker.call(function, List.of(row(13), row(4)));
        assertTrue(results.get(0).isNullAt(0));
        UTF8String error = results.get(0).getUTF8String(1);
        assertTrue(error.toString().contains("unlucky"), error.toString());
        assertEquals(2.0, results.get(1).getDouble(0));
        assertEquals(1.0, PythonWorker.call(function, List.of(row(2))).get(0).getDouble(0));
    }

    @Test
    void aFunctionThatIsNotThereIsAnError() throws IOException {
        PythonFunctions.Signature missing = signature("MISSING", "SCALAR");
        var refused =
                assertThrows(
                        IllegalStateException.class,
                        () -> PythonWorker.call(missing, List.of(row(1))));
        assertTrue(refused.getMessage().startsWith("a user function cannot run: "));
    }

    @Test
    @SuppressWarnings("unchecked")
    void anAggregatesStateIsStoredInALayoutOfOurs() throws IOException {
        var function =
                (StateLayout<PythonFunctions.State>)
                        PythonFunctions.bind(signature("SUMMED", "AGGREGATE").source, ARGUMENTS);
        PythonFunctions.State state = new PythonFunctions.State();
        assertEquals("0100", HexFormat.of().formatHex(function.store(state)));
        assertNull(function.restore(function.store(state)).kept);
        state.kept = new byte[] {7, 8};
        assertEquals("01010708", HexFormat.of().formatHex(function.store(state)));
        assertArrayEquals(state.kept, function.restore(function.store(state)).kept);
    }
}
