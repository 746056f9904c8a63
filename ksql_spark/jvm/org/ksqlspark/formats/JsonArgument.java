package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.util.ArrayList;
import java.util.List;

/** The argument of a function, as a JSON object. */
final class JsonArgument {
    private JsonArgument() {}

    static JsonNode parse(String argument) {
        try {
            return new ObjectMapper().readTree(argument);
        } catch (JsonProcessingException bad) {
            throw new IllegalArgumentException("The argument is not JSON: " + argument, bad);
        }
    }

    static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
