package org.ksqlspark.registry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;
import org.apache.spark.sql.internal.SQLConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import scala.jdk.javaapi.CollectionConverters;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

import javax.net.ssl.SSLContext;

/**
 * Schemas by id or GUID from a registry with Confluent's API. Each is asked for once in a JVM and
 * then kept, so that records of known schemas are read while the registry is away. Where another
 * schema is needed then, the task fails. While it is away, or where it does not know an id, it is
 * left alone for some seconds.
 *
 * <p>The setting "folder" names a folder for copies of the schemas. They are read only while the
 * registry is away: another one at its address may give the same ids to other schemas.
 */
public final class RegistryClient {
    /** Settings of a Spark session that start with this are the registry's. */
    public static final String PREFIX = "spark.ksql.registry.";

    private static final Duration CONNECT = Duration.ofSeconds(3);
    private static final Duration ANSWER = Duration.ofSeconds(5);
    private static final long REST_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long UNKNOWN_NANOS = Duration.ofSeconds(30).toNanos();
    private static final int UNKNOWN_KEPT = 10_000;
    private static final int NOT_FOUND = 404;
    private static final String AVRO = "AVRO";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Logger LOG = LoggerFactory.getLogger(RegistryClient.class);
    private static final Map<Map<String, String>, RegistryClient> CLIENTS =
            new ConcurrentHashMap<>();

    /**
     * A schema: its kind and text; names and texts of the schemas it refers to, each after those
     * that it refers to itself. Copies have these names, and the server reads them too.
     */
    public record Registered(
            String kind, String text, List<String> names, List<String> references) {
        public Registered(String text, List<String> references) {
            this(AVRO, text, List.of(), references);
        }
    }

    /** Why there is no schema, in one sentence. */
    public static class NoSchema extends RuntimeException {
        NoSchema(String message) {
            super(message);
        }
    }

    /**
     * The task was ended while it waited for the registry. It is an error of the task, not of the
     * record: decoders turn exceptions into bad records, which would then be lost.
     */
    private static final class Stopped extends Error {
        private static final long serialVersionUID = 1L;

        Stopped(InterruptedException cause) {
            super("The query was stopped.", cause);
        }
    }

    /**
     * The registry does not answer, and there is no copy of the schema. It is an error of the task
     * too: the query fails, and reads the record again once it is started again.
     */
    public static final class Away extends Error {
        private static final long serialVersionUID = 1L;

        Away(String message) {
            super("[KSQL_REGISTRY_AWAY] " + message);
        }
    }

    private record Unknown(String reason, long until) {}

    private final List<String> urls = new ArrayList<>();
    private final Map<String, String> settings;
    private final Map<Object, Registered> known = new ConcurrentHashMap<>();
    private final Map<Object, Unknown> unknown =
            new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Object, Unknown> eldest) {
                    return size() > UNKNOWN_KEPT;
                }
            };
    private final Path folder;
    private Unknown resting = new Unknown("", System.nanoTime());
    private HttpClient http;

    private RegistryClient(Map<String, String> settings) {
        this.settings = settings;
        String given = settings.get("folder");
        this.folder = given == null ? null : Path.of(given);
        for (String url : settings.getOrDefault("url", "").split(",")) {
            if (!url.isBlank()) {
                urls.add(url.strip().replaceFirst("/+$", ""));
            }
        }
    }

    /** The settings of the current session's registry, without their prefix; empty: it has none. */
    public static Map<String, String> ofSession() {
        Map<String, String> found = new HashMap<>();
        CollectionConverters.asJava(SQLConf.get().getAllConfs())
                .forEach(
                        (name, value) -> {
                            if (name.startsWith(PREFIX)) {
                                found.put(name.substring(PREFIX.length()), value);
                            }
                        });
        return found;
    }

    /** The client of a registry, one for all tasks. */
    public static RegistryClient of(Map<String, String> settings) {
        return CLIENTS.computeIfAbsent(Map.copyOf(settings), RegistryClient::new);
    }

    /** The schema with this id, an Integer, or this GUID, a UUID; throws NoSchema, Away. */
    public Registered schema(Object id) {
        Registered found = known.get(id);
        return found != null ? found : fetched(id);
    }

    private synchronized Registered fetched(Object id) {
        Registered found = known.get(id);
        if (found != null) {
            return found;
        }
        long now = System.nanoTime();
        Unknown missing = unknown.get(id);
        if (missing != null && missing.until() - now > 0) {
            throw new NoSchema(missing.reason());
        }
        if (resting.until() - now > 0) {
            return copied(id, new Away(resting.reason()));
        }
        if (urls.isEmpty()) {
            throw new NoSchema("No schema registry is configured (ksql.schema.registry.url).");
        }
        try {
            found = asked(id);
        } catch (Away away) {
            return copied(id, away);
        }
        known.put(id, found);
        copy(id, found);
        return found;
    }

    private Registered asked(Object id) {
        boolean isGuid = id instanceof UUID;
        boolean canBe = isGuid || (Integer) id >= 0;
        JsonNode schema = canBe ? get((isGuid ? "/schemas/guids/" : "/schemas/ids/") + id) : null;
        if (schema == null) {
            String kind = isGuid ? "GUID " : "id ";
            String reason = "The schema registry has no schema with the " + kind + id + ".";
            unknown.put(id, new Unknown(reason, System.nanoTime() + UNKNOWN_NANOS));
            throw new NoSchema(reason);
        }
        Map<String, String> references = new LinkedHashMap<>();
        addReferences(schema, references, new HashSet<>());
        return new Registered(
                schema.path("schemaType").asText(AVRO),
                schema.path("schema").asText(),
                List.copyOf(references.keySet()),
                List.copyOf(references.values()));
    }

    /** Keep a copy of a schema for the next JVM and the server; without one, they have to ask. */
    private void copy(Object id, Registered schema) {
        if (folder == null) {
            return;
        }
        try {
            Files.createDirectories(folder);
            Path fresh = Files.createTempFile(folder, "", ".fresh");
            JSON.writeValue(fresh.toFile(), schema);
            Files.move(fresh, folder.resolve(id + ".json"), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException bad) {
            LOG.warn("The schema {} cannot be kept in {}: {}", id, folder, bad.getMessage());
        }
    }

    /** The copy of a schema while the registry is away; throws {@code away} if there is none. */
    private Registered copied(Object id, Away away) {
        try {
            if (folder != null) {
                return JSON.readValue(folder.resolve(id + ".json").toFile(), Registered.class);
            }
        } catch (IOException none) {
            LOG.debug("There is no copy of the schema {}.", id, none);
        }
        throw away;
    }

    private void addReferences(JsonNode schema, Map<String, String> texts, Set<String> seen) {
        for (JsonNode reference : schema.path("references")) {
            String name = reference.path("name").asText();
            if (seen.add(name)) {
                String subject =
                        URLEncoder.encode(
                                reference.path("subject").asText(), StandardCharsets.UTF_8);
                String version = reference.path("version").asText();
                JsonNode other =
                        get("/subjects/" + subject.replace("+", "%20") + "/versions/" + version);
                if (other == null) {
                    throw new NoSchema("A schema refers to " + name + ", which is not there.");
                }
                addReferences(other, texts, seen);
                texts.put(name, other.path("schema").asText());
            }
        }
    }

    /** The answer of the first URL that answers; null: it says that there is no such thing. */
    private JsonNode get(String path) {
        String reason = "";
        for (String url : urls) {
            try {
                HttpResponse<String> answer =
                        client().send(request(url, path), HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() == NOT_FOUND) {
                    return null;
                }
                if (answer.statusCode() == 200) {
                    JsonNode found = JSON.readTree(answer.body());
                    if (found.hasNonNull("schema")) {
                        return found;
                    }
                    reason = "its answer has no schema";
                } else {
                    reason = "it answers with HTTP " + answer.statusCode();
                }
            } catch (IOException | IllegalArgumentException failed) {
                String said = failed.getMessage();
                reason = said == null ? failed.getClass().getSimpleName() : said;
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                throw new Stopped(stopped);
            }
        }
        String told = "The schema registry cannot be read: " + reason + ".";
        resting = new Unknown(told, System.nanoTime() + REST_NANOS);
        throw new Away(told);
    }

    private HttpRequest request(String url, String path) {
        URI uri = URI.create(url);
        String user = uri.getRawUserInfo();
        String plain = user == null ? url : url.replace(user + "@", "");
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(plain + path))
                        .timeout(ANSWER)
                        .header("Accept", "application/vnd.schemaregistry.v1+json");
        String token = settings.getOrDefault("bearer.auth.token", "");
        String given = settings.getOrDefault("basic.auth.user.info", user == null ? "" : user);
        if (!token.isEmpty()) {
            request.header("Authorization", "Bearer " + token);
            header(request, "target-sr-cluster", "bearer.auth.logical.cluster");
            header(request, "Confluent-Identity-Pool-Id", "bearer.auth.identity.pool.id");
        } else if (!given.isEmpty()) {
            byte[] bytes = given.getBytes(StandardCharsets.UTF_8);
            request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString(bytes));
        }
        return request.GET().build();
    }

    private void header(HttpRequest.Builder request, String name, String setting) {
        String value = settings.getOrDefault(setting, "");
        if (!value.isEmpty()) {
            request.header(name, value);
        }
    }

    private HttpClient client() throws IOException {
        if (http == null) {
            HttpClient.Builder made = HttpClient.newBuilder().connectTimeout(CONNECT);
            if (settings.keySet().stream().anyMatch(name -> name.startsWith("ssl."))) {
                made.sslContext(tls());
            }
            http = made.build();
        }
        return http;
    }

    /** Certificates and keys are PEM files, as they are for the server's own client. */
    private SSLContext tls() throws IOException {
        Map<String, Object> given = new HashMap<>();
        given.put("ssl.protocol", "TLSv1.3");
        given.put("ssl.enabled.protocols", List.of("TLSv1.3", "TLSv1.2"));
        given.put("ssl.cipher.suites", List.of()); // all that Java has
        if (settings.containsKey("ssl.truststore.location")) {
            given.put("ssl.truststore.type", "PEM");
            given.put("ssl.truststore.location", settings.get("ssl.truststore.location"));
        }
        if (settings.containsKey("ssl.keystore.location")) {
            String key =
                    settings.getOrDefault(
                            "ssl.key.location", settings.get("ssl.keystore.location"));
            given.put("ssl.keystore.type", "PEM");
            given.put("ssl.keystore.certificate.chain", file("ssl.keystore.location"));
            given.put("ssl.keystore.key", new Password(Files.readString(Path.of(key))));
            if (settings.containsKey("ssl.key.password")) {
                given.put("ssl.key.password", new Password(settings.get("ssl.key.password")));
            }
        }
        try (DefaultSslEngineFactory factory = new DefaultSslEngineFactory()) {
            factory.configure(given);
            return factory.sslContext();
        }
    }

    private Password file(String setting) throws IOException {
        return new Password(Files.readString(Path.of(settings.get(setting))));
    }
}
