package org.ksqlspark.state;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.TaskContext;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Keys that an operator removes from its state before the first record of a batch (FORGET, ADR 85).
 *
 * @param batch the number of that batch; if it fails, it is run again with this number
 * @param tasks the numbers of all tasks of the operator
 */
record ForgottenKeys(long batch, List<Integer> tasks, List<byte[]> keys) implements Serializable {
    /**
     * Setting of the query's session, a JSON object: {@code operator}, the number of the one whose
     * keys they are, {@code batch}, {@code tasks} and {@code keys}, these in Base64.
     */
    static final String SETTING = "spark.ksql.forgottenKeys";

    /** Spark's local property with the number of the batch that a task works for. */
    private static final String BATCH_ID = "streaming.sql.batchId";

    /** Those of a setting for an operator; null: there are none. */
    static ForgottenKeys of(String setting, int operator) {
        if (setting.isEmpty()) {
            return null;
        }
        try {
            JsonNode read = new ObjectMapper().readTree(setting);
            if (read.path("operator").asInt() != operator) {
                return null;
            }
            List<Integer> tasks = new ArrayList<>();
            read.get("tasks").forEach(number -> tasks.add(number.asInt()));
            List<byte[]> keys = new ArrayList<>();
            read.get("keys").forEach(key -> keys.add(Base64.getDecoder().decode(key.asText())));
            return new ForgottenKeys(read.get("batch").asLong(), tasks, keys);
        } catch (JsonProcessingException bad) {
            throw new IllegalArgumentException(bad);
        }
    }

    /** Whether a task works for the batch before whose first record they are removed. */
    boolean areDue(TaskContext context) {
        return String.valueOf(batch).equals(context.getLocalProperty(BATCH_ID));
    }
}
