package org.ksqlspark.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A commit of an archive, and all that was before it. The protocol is that of lake/manifests.py,
 * and so are the cases that it is tested with.
 *
 * @param number of the commit; 0: there is none
 * @param content what the manifest says
 */
record Manifest(long number, JsonNode content) {
    private static final Pattern NAME = Pattern.compile("(\\d{20})\\.json");
    private static final String OWN = "_ksql/";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A file, and its first and last offset. */
    record Part(String name, long first, long last) {}

    /** The newest manifest of a folder. */
    static Manifest newest(ArchiveFolder folder) throws IOException {
        while (true) {
            long number = 0;
            for (String name : folder.names(OWN)) {
                Matcher known = NAME.matcher(name);
                if (known.matches()) {
                    number = Math.max(number, Long.parseLong(known.group(1)));
                }
            }
            if (number == 0) {
                return new Manifest(0, JSON.createObjectNode());
            }
            try {
                String name = String.format("%020d.json", number);
                return new Manifest(number, JSON.readTree(folder.read(OWN + name)));
            } catch (IOException failed) {
                if (!ArchiveFolder.isMissing(failed)) {
                    throw failed;
                }
                // it is so old that it was removed meanwhile
            }
        }
    }

    /** The offset up to which the archive has a partition of a topic. */
    long end(String topic, int partition) {
        JsonNode positions = content.path("positions").path(topic);
        return positions.path(String.valueOf(partition)).asLong(0);
    }

    /** All files of the folder, with the size of each, and its first and last offset. */
    Map<String, JsonNode> listed(ArchiveFolder folder) throws IOException {
        Map<String, JsonNode> found = new HashMap<>();
        for (JsonNode name : content.path("lists")) {
            JsonNode list = JSON.readTree(folder.read(OWN + name.asText()));
            list.properties().forEach(file -> found.put(file.getKey(), file.getValue()));
        }
        content.path("recent")
                .properties()
                .forEach(file -> found.put(file.getKey(), file.getValue()));
        return found;
    }

    /** The files with offsets of a range, by their first offsets. */
    List<Part> parts(ArchiveFolder folder, int partition, long from, long until)
            throws IOException {
        List<Part> found = new ArrayList<>();
        for (var file : listed(folder).entrySet()) {
            long first = file.getValue().path(1).asLong();
            long last = file.getValue().path(2).asLong();
            boolean isOwn = file.getKey().contains("/partition=" + partition + "/");
            if (isOwn && last >= from && first < until) {
                found.add(new Part(file.getKey(), first, last));
            }
        }
        found.sort(Comparator.comparingLong(Part::first));
        return found;
    }

    /**
     * Where a file is: below its name, or, until the commit is published, below the one that it was
     * written with.
     */
    String place(ArchiveFolder folder, String name) throws IOException {
        for (var file : content.path("files").properties()) {
            if (file.getValue().asText().equals(name) && !folder.exists(name)) {
                return OWN + file.getKey();
            }
        }
        return name;
    }
}
