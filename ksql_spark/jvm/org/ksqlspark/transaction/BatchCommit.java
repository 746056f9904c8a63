package org.ksqlspark.transaction;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * What Spark's checkpoint says of a batch: with it, a batch whose results are committed can be put
 * into the checkpoint after a crash. It is the last record of the batch's transaction.
 *
 * @param batch number of the batch
 * @param checkpoint text of the checkpoint's file "metadata", its identity
 * @param offsets text of the file offsets/N: up to where the batch reads
 * @param commit text of the file commits/N, which names the state that the batch has left
 */
record BatchCommit(long batch, String checkpoint, String offsets, String commit) {
    private static final ObjectMapper JSON = new ObjectMapper();

    byte[] toJson() {
        try {
            return JSON.writeValueAsBytes(this);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
