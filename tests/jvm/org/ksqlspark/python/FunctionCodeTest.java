package org.ksqlspark.python;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

final class FunctionCodeTest {
    @TempDir Path folder;

    private FunctionCode archived(String entry, String text) throws IOException {
        Path file = folder.resolve("code.zip");
        try (ZipOutputStream archive = new ZipOutputStream(Files.newOutputStream(file))) {
            archive.putNextEntry(new ZipEntry(entry));
            archive.write(text.getBytes());
        }
        return FunctionCode.read(file.toString());
    }

    @Test
    void filesAreBelowTheFolderUnderTheirAbsolutePaths() throws IOException {
        Path root = folder.resolve("root");
        archived("srv/functions/a.py", "A = 1").unpack(root);
        assertEquals("A = 1", Files.readString(FunctionCode.below(root, "/srv/functions/a.py")));
    }

    @Test
    void nothingIsWrittenOutsideOfTheFolder() throws IOException {
        FunctionCode code = archived("../outside.py", "");
        assertThrows(IllegalArgumentException.class, () -> code.unpack(folder.resolve("root")));
        assertFalse(Files.exists(folder.resolve("outside.py")));
    }
}
