package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;

/** Spark calls a function from its generated code only if it finds a public method of this name. */
class GeneratedCallsTest {
    @Test
    void functionsOfFormatsAndOfSqlAreCalledByGeneratedCode() throws Exception {
        List<Class<?>> functions = functions();
        assertFalse(functions.isEmpty());
        assertEquals(
                List.of(), functions.stream().filter(f -> !isCalledByGeneratedCode(f)).toList());
    }

    private static boolean isCalledByGeneratedCode(Class<?> function) {
        return Modifier.isPublic(function.getModifiers())
                && Arrays.stream(function.getDeclaredMethods())
                        .anyMatch(
                                method ->
                                        method.getName().equals("invoke")
                                                && Modifier.isPublic(method.getModifiers()));
    }

    /** Those of the packages formats and functions. */
    private static List<Class<?>> functions() throws Exception {
        URI classes =
                InvokeFunction.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        try (JarFile jar = new JarFile(Path.of(classes).toFile())) {
            return jar.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.matches("org/ksqlspark/(formats|functions)/.*[.]class"))
                    .<Class<?>>map(GeneratedCallsTest::load)
                    .filter(type -> ScalarFunction.class.isAssignableFrom(type))
                    .filter(type -> !Modifier.isAbstract(type.getModifiers()))
                    .toList();
        }
    }

    private static Class<?> load(String file) {
        try {
            return Class.forName(file.replace(".class", "").replace('/', '.'));
        } catch (ClassNotFoundException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
