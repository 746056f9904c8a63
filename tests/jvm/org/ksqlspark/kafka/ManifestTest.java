package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The cases of tests/lake/test_manifests.py. */
class ManifestTest {
    @TempDir Path root;

    @TestFactory
    List<DynamicTest> whatAFolderHas() throws IOException {
        Path cases = Path.of(System.getProperty("ksql.root"), "tests/lake/manifests.json");
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode given : new ObjectMapper().readTree(cases.toFile())) {
            String name = given.path("case").asText();
            tests.add(dynamicTest(name, () -> check(given, root.resolve(name))));
        }
        assertFalse(tests.isEmpty());
        return tests;
    }

    private static void check(JsonNode given, Path path) throws IOException {
        for (var file : given.path("files").properties()) {
            Path at = path.resolve(file.getKey());
            Files.createDirectories(at.getParent());
            JsonNode content = file.getValue();
            Files.writeString(at, content.isTextual() ? content.asText() : content.toString());
        }
        ArchiveFolder folder = ArchiveFolder.of(path.toString());
        Manifest newest = Manifest.newest(folder);
        assertEquals(given.path("newest").asLong(), newest.number());
        assertEquals(given.path("end").asLong(), newest.end("archive:t:1", 1));
        Set<String> names = new TreeSet<>();
        for (var file : given.path("located").properties()) {
            String place = newest.place(folder, file.getKey());
            names.add(file.getKey());
            if (file.getValue().isNull()) {
                assertFalse(folder.exists(place));
            } else {
                String content = new String(folder.read(place), StandardCharsets.UTF_8);
                assertEquals(file.getValue().asText(), content);
            }
        }
        assertEquals(names, new TreeSet<>(newest.listed(folder).keySet()));
    }
}
