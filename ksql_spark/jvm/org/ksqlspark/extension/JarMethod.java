package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import io.confluent.ksql.schema.ksql.SqlArgument;

import org.apache.kafka.common.Configurable;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A method of a class in a jar, with the object it is called on. */
final class JarMethod {
    private static final ObjectMapper JSON = new ObjectMapper();

    final Method method;

    /** Null: the method is static. */
    private final Object instance;

    private JarMethod(Method method, Object instance) {
        this.method = method;
        this.instance = instance;
    }

    /**
     * @param code has the class, the method as {@link #text} writes it, and the properties for a
     *     Configurable
     */
    static JarMethod of(Path jar, JsonNode code) {
        try {
            Class<?> owner = Class.forName(code.get("class").asText(), true, JarClasses.of(jar));
            String wanted = code.get("method").asText();
            for (Method method : owner.getMethods()) {
                if (text(method).equals(wanted)) {
                    boolean isStatic = Modifier.isStatic(method.getModifiers());
                    return new JarMethod(
                            method, isStatic ? null : made(owner, code.get("properties")));
                }
            }
            throw new IllegalStateException(jar + " has no method " + wanted);
        } catch (ReflectiveOperationException | LinkageError failed) {
            throw new IllegalStateException(
                    jar + ": " + code.get("class").asText() + ": " + because(failed), failed);
        }
    }

    /** A method's name and the classes of its parameters. */
    static String text(Method method) {
        return Arrays.stream(method.getParameterTypes())
                .map(Class::getTypeName)
                .collect(Collectors.joining(",", method.getName() + "(", ")"));
    }

    private static Object made(Class<?> owner, JsonNode properties)
            throws ReflectiveOperationException {
        Object instance = owner.getConstructor().newInstance();
        configure(instance, properties);
        return instance;
    }

    /** Hands the properties to a function that takes them. */
    static void configure(Object function, JsonNode properties) {
        if (function instanceof Configurable configurable && properties != null) {
            @SuppressWarnings("unchecked")
            Map<String, Object> values = JSON.convertValue(properties, Map.class);
            configurable.configure(values);
        }
    }

    /**
     * Calls the method.
     *
     * @throws Throwable what it throws
     */
    Object call(Object... arguments) throws Throwable {
        try {
            return method.invoke(instance, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    /**
     * What a schema provider of the same object says.
     *
     * @throws Throwable what it throws
     */
    Object provider(String name, List<SqlArgument> arguments) throws Throwable {
        Method provider = method.getDeclaringClass().getMethod(name, List.class);
        return new JarMethod(provider, instance).call(arguments);
    }

    /** One line: why something failed, and where in the code of a function. */
    static String because(Throwable failure) {
        Throwable cause =
                failure instanceof InvocationTargetException && failure.getCause() != null
                        ? failure.getCause()
                        : failure;
        String message = String.valueOf(cause.getMessage()).replaceAll("\\s+", " ").strip();
        String text =
                cause.getClass().getSimpleName()
                        + (cause.getMessage() == null ? "" : ": " + message);
        for (StackTraceElement frame : cause.getStackTrace()) {
            if (frame.getClassName().startsWith("org.ksqlspark.")) {
                break;
            }
            if (frame.getModuleName() == null && frame.getFileName() != null) {
                return text + " (" + frame.getFileName() + ", line " + frame.getLineNumber() + ")";
            }
        }
        return text;
    }
}
