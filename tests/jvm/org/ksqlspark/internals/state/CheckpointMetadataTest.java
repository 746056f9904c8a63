package org.ksqlspark.internals.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import org.junit.jupiter.api.Test;

class CheckpointMetadataTest {
    @Test
    void theExampleIsReadAsItWasWritten() {
        var found = CheckpointMetadata.read();
        assertEquals("a-1.sst", asJava(found.sstFiles()).get(0).dfsSstFileName());
        assertEquals("a-1.log", asJava(found.logFiles()).get(0).dfsLogFileName());
        assertEquals(1, found.numKeys());
    }
}
