package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class StateFolderTest {
    @TempDir Path scratch;
    private final Configuration settings = new Configuration();
    private StateFolder folder;

    @BeforeEach
    void open() throws IOException {
        settings.set("fs.file.impl", LocalFiles.class.getName());
        folder = new StateFolder(scratch.resolve("a").toUri().toString(), settings);
    }

    @Test
    void whatDoesNotExistIsEmpty() throws IOException {
        assertFalse(folder.exists());
        assertEquals(List.of(), folder.names());
        assertNull(folder.read("0"));
        folder.forget("0");
        folder.remove();
    }

    @Test
    void aFileIsReplacedAsAWhole() throws IOException {
        folder.write("0", "one");
        folder.write("0", "two €");
        assertArrayEquals("two €".getBytes(StandardCharsets.UTF_8), folder.read("0"));
        assertEquals(List.of("0"), folder.names());
        folder.forget("0");
        assertTrue(folder.exists());
        folder.remove();
        assertFalse(Files.exists(scratch.resolve("a")));
    }

    @Test
    void aSchemeThatNobodyKnows() {
        assertThrows(
                UnsupportedFileSystemException.class,
                () -> new StateFolder("unknown://there/a", settings));
    }
}
