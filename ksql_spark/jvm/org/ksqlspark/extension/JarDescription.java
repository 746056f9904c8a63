package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import io.confluent.ksql.function.udaf.TableUdaf;
import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.function.udaf.UdafDescription;
import io.confluent.ksql.function.udaf.UdafFactory;
import io.confluent.ksql.function.udf.Udf;
import io.confluent.ksql.function.udf.UdfDescription;
import io.confluent.ksql.function.udf.UdfParameter;
import io.confluent.ksql.function.udtf.Udtf;
import io.confluent.ksql.function.udtf.UdtfDescription;
import io.confluent.ksql.schema.ksql.SqlArgument;
import io.confluent.ksql.schema.ksql.types.SqlType;

import org.apache.commons.lang3.reflect.TypeUtils;

import java.io.File;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * A program that describes the functions in a jar, in a JVM of its own (ksql_spark/services/
 * java_functions.py runs it). It loads only the classes that mention an annotation.
 */
public final class JarDescription {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path jar;
    private final ArrayNode functions = JSON.createArrayNode();
    private final ArrayNode problems = JSON.createArrayNode();

    private JarDescription(Path jar) {
        this.jar = jar;
    }

    /**
     * @param arguments the jar, the file to write, and for the result type of a call: the call
     */
    public static void main(String[] arguments) throws IOException {
        Path jar = Path.of(arguments[0]);
        File answer = new File(arguments[1]);
        if (arguments.length > 2) {
            JSON.writeValue(answer, resultOf(jar, JSON.readTree(arguments[2])));
        } else {
            JSON.writeValue(answer, describe(jar));
        }
        System.exit(0); // functions may have started threads
    }

    /** The functions in a jar, and what is wrong with the others. */
    static JsonNode describe(Path jar) throws IOException {
        JarDescription description = new JarDescription(jar);
        for (String name : description.annotated()) {
            try {
                description.add(Class.forName(name, false, JarClasses.of(jar)));
            } catch (ClassNotFoundException | LinkageError | RuntimeException failed) {
                description.problems.add(name + ": " + JarMethod.because(failed));
            }
        }
        ObjectNode described = JSON.createObjectNode();
        described.set("functions", description.functions);
        described.set("problems", description.problems);
        return described;
    }

    /** The names of the classes that mention an annotation, sorted. */
    private List<String> annotated() throws IOException {
        List<String> names = new ArrayList<>();
        try (JarFile file = new JarFile(jar.toFile())) {
            List<String> marks =
                    Stream.of(UdfDescription.class, UdafDescription.class, UdtfDescription.class)
                            .map(Class::descriptorString)
                            .toList();
            for (JarEntry entry : Collections.list(file.entries())) {
                String path = entry.getName();
                if (!path.endsWith(".class") || path.startsWith("META-INF/")) {
                    continue;
                }
                byte[] bytes = file.getInputStream(entry).readAllBytes();
                String text = new String(bytes, StandardCharsets.ISO_8859_1);
                if (marks.stream().anyMatch(text::contains)) {
                    names.add(path.substring(0, path.length() - 6).replace('/', '.'));
                }
            }
        }
        names.sort(Comparator.naturalOrder());
        return names;
    }

    private void add(Class<?> owner) {
        UdfDescription scalar = owner.getAnnotation(UdfDescription.class);
        UdtfDescription table = owner.getAnnotation(UdtfDescription.class);
        UdafDescription aggregate = owner.getAnnotation(UdafDescription.class);
        if (scalar != null) {
            ObjectNode function = function(owner, "SCALAR", scalar.name(), scalar.description());
            function.put("category", scalar.category());
            function.put("author", scalar.author()).put("version", scalar.version());
            addVariants(function, owner, Udf.class);
        }
        if (table != null) {
            ObjectNode function = function(owner, "TABLE", table.name(), table.description());
            function.put("category", table.category());
            function.put("author", table.author()).put("version", table.version());
            addVariants(function, owner, Udtf.class);
        }
        if (aggregate != null) {
            ObjectNode function =
                    function(owner, "AGGREGATE", aggregate.name(), aggregate.description());
            function.put("category", "AGGREGATE");
            function.put("author", aggregate.author()).put("version", aggregate.version());
            addVariants(function, owner, UdafFactory.class);
        }
    }

    private static ObjectNode function(
            Class<?> owner, String kind, String name, String description) {
        return JSON.createObjectNode()
                .put("class", owner.getName())
                .put("kind", kind)
                .put("name", name)
                .put("description", description);
    }

    private void addVariants(
            ObjectNode function, Class<?> owner, Class<? extends Annotation> mark) {
        ArrayNode variants = function.putArray("variants");
        Method[] methods = owner.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(JarMethod::text));
        for (Method method : methods) {
            if (!method.isAnnotationPresent(mark) || method.isBridge()) {
                continue;
            }
            String where = owner.getName() + "." + JarMethod.text(method);
            try {
                checkCallable(owner, method);
                variants.add(variant(method));
            } catch (LinkageError | RuntimeException failed) {
                String why =
                        failed instanceof IllegalArgumentException
                                ? failed.getMessage()
                                : JarMethod.because(failed);
                problems.add(where + ": " + why);
            }
        }
        if (!variants.isEmpty()) {
            functions.add(function);
        } else if (Arrays.stream(methods).noneMatch(m -> m.isAnnotationPresent(mark))) {
            problems.add(owner.getName() + ": it has no method with @" + mark.getSimpleName());
        }
    }

    private static void checkCallable(Class<?> owner, Method method) {
        if (!Modifier.isPublic(owner.getModifiers()) || !Modifier.isPublic(method.getModifiers())) {
            throw new IllegalArgumentException("the class and the method must be public");
        }
        boolean isStatic = Modifier.isStatic(method.getModifiers());
        if (method.isAnnotationPresent(UdafFactory.class) && !isStatic) {
            throw new IllegalArgumentException("a factory must be static");
        }
        if (!isStatic
                && Arrays.stream(owner.getConstructors())
                        .noneMatch(constructor -> constructor.getParameterCount() == 0)) {
            throw new IllegalArgumentException(
                    "the class needs a public constructor without parameters");
        }
    }

    private ObjectNode variant(Method method) {
        ObjectNode variant = JSON.createObjectNode().put("method", JarMethod.text(method));
        if (method.isAnnotationPresent(UdafFactory.class)) {
            return aggregateVariant(method, variant);
        }
        Udf udf = method.getAnnotation(Udf.class);
        Udtf udtf = method.getAnnotation(Udtf.class);
        variant.put("description", udf != null ? udf.description() : udtf.description());
        ParameterTypes types = new ParameterTypes();
        ArrayNode parameters = variant.putArray("parameters");
        for (Parameter parameter : method.getParameters()) {
            Type type = parameter.getParameterizedType();
            if (parameter.isVarArgs()) {
                variant.put("variadic", parameters.size());
                type = TypeUtils.getArrayComponentType(type);
            }
            addParameter(parameters, parameter, types, type);
        }
        Type returned = method.getGenericReturnType();
        if (udtf != null) {
            returned = row(returned);
        }
        String provider = udf != null ? udf.schemaProvider() : udtf.schemaProvider();
        String schema = udf != null ? udf.schema() : udtf.schema();
        if (!provider.isEmpty()) {
            provider(method.getDeclaringClass(), provider);
            variant.put("provider", provider);
        } else {
            variant.set("returns", withDigits(types.of(returned, schema)));
        }
        variant.put("primitive", method.getReturnType().isPrimitive());
        return variant;
    }

    private static void addParameter(
            ArrayNode parameters, Parameter parameter, ParameterTypes types, Type type) {
        UdfParameter described = parameter.getAnnotation(UdfParameter.class);
        boolean isNamed = described != null && !described.value().isEmpty();
        parameters
                .addObject()
                .put("name", isNamed ? described.value() : parameter.getName())
                .put("description", described == null ? "" : described.description())
                .set("type", types.of(type, described == null ? "" : described.schema()));
    }

    private static Type row(Type returned) {
        if (returned instanceof ParameterizedType list && list.getRawType() == List.class) {
            return list.getActualTypeArguments()[0];
        }
        throw new IllegalArgumentException("a table function must return a List of its rows");
    }

    private static JsonNode withDigits(JsonNode type) {
        if (type.toString().contains("\"DECIMAL\"")) {
            throw new IllegalArgumentException(
                    "a result BigDecimal needs its digits: schema = \"DECIMAL(10, 2)\", or a"
                            + " schemaProvider");
        }
        return type;
    }

    private static Method provider(Class<?> owner, String name) {
        try {
            return owner.getMethod(name, List.class);
        } catch (NoSuchMethodException missing) {
            throw new IllegalArgumentException(
                    "there is no public method " + name + "(List<SqlArgument>)", missing);
        }
    }

    private static ObjectNode aggregateVariant(Method method, ObjectNode variant) {
        UdafFactory factory = method.getAnnotation(UdafFactory.class);
        variant.put("description", factory.description());
        Type made = method.getGenericReturnType();
        ArgumentTuple tuple = ArgumentTuple.of(made);
        ParameterTypes types = new ParameterTypes();
        ArrayNode parameters = variant.putArray("parameters");
        for (int i = 0; i < tuple.types().size(); i++) {
            String schema = i < factory.paramSchema().length ? factory.paramSchema()[i] : "";
            parameters
                    .addObject()
                    .put("name", tuple.types().size() == 1 ? "value" : "value" + (i + 1))
                    .put("description", "")
                    .set("type", types.of(tuple.types().get(i), schema));
        }
        if (tuple.variadic() >= 0) {
            variant.put("variadic", tuple.variadic());
        }
        for (Parameter parameter : method.getParameters()) {
            addParameter(parameters, parameter, types, parameter.getParameterizedType());
        }
        variant.put("initial", method.getParameterCount());
        variant.put("undo", isForTables(method));
        JsonNode state = known(types, ArgumentTuple.argument(made, 1), factory.aggregateSchema());
        JsonNode result = known(types, ArgumentTuple.argument(made, 2), factory.returnSchema());
        if (state == null || result == null) {
            variant.put("provider", "");
        } else {
            variant.set("aggregate", state);
            variant.set("returns", result);
        }
        return variant;
    }

    /** The SQL type; null: the function itself says it for its arguments. */
    private static JsonNode known(ParameterTypes types, Type type, String schema) {
        try {
            JsonNode tree = withDigits(types.of(type, schema));
            return tree.findValue("variable") == null ? tree : null;
        } catch (IllegalArgumentException unknown) {
            return null;
        }
    }

    private static boolean isForTables(Method factory) {
        if (TableUdaf.class.isAssignableFrom(factory.getReturnType())) {
            return true;
        }
        try {
            return factory.getParameterCount() == 0
                    && factory.invoke(null) instanceof TableUdaf<?, ?, ?>;
        } catch (ReflectiveOperationException | LinkageError failed) {
            throw new IllegalStateException(JarMethod.because(failed), failed);
        }
    }

    /**
     * The SQL types of a call's result and state.
     *
     * @param call its class, method, provider (empty: the aggregate function itself), the types of
     *     its arguments, the factory's arguments and the properties for a Configurable
     */
    static JsonNode resultOf(Path jar, JsonNode call) {
        ObjectNode answer = JSON.createObjectNode();
        List<SqlType> types = new ArrayList<>();
        call.get("types").forEach(type -> types.add(TypeTree.read(type)));
        try {
            String provider = call.get("provider").asText();
            JarMethod method = JarMethod.of(jar, call);
            if (provider.isEmpty()) {
                Udaf<?, ?, ?> made = AggregateCall.made(method, call, types);
                answer.put("returns", text(made.getReturnSqlType(), "getReturnSqlType"));
                answer.put("aggregate", text(made.getAggregateSqlType(), "getAggregateSqlType"));
            } else {
                List<SqlArgument> arguments = types.stream().map(SqlArgument::of).toList();
                answer.put("returns", String.valueOf(method.provider(provider, arguments)));
            }
        } catch (Throwable failed) {
            answer.put("error", JarMethod.because(failed));
        }
        return answer;
    }

    private static String text(Optional<SqlType> type, String method) {
        return type.map(SqlType::toString)
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "the SQL type is neither in the annotation nor does "
                                                + method
                                                + "() say it"));
    }
}
