package org.ksqlspark.python;

import org.apache.spark.SparkEnv;
import org.apache.spark.util.Utils;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * The Python code that a user function needs, for executors, which may be on other machines: it
 * travels with the tasks.
 *
 * <p>It is a ZIP archive of files under their absolute paths on the server's machine
 * (ksql_spark/services/function_archive.py writes it). An executor unpacks it once, and finds each
 * file below the folder that it was unpacked to.
 */
final class FunctionCode implements Serializable {
    /** By path, in the driver. The name of an archive depends on its content. */
    private static final Map<String, FunctionCode> READ = new ConcurrentHashMap<>();

    /** By name, in executors: where an archive's files are. */
    private static final Map<String, Path> UNPACKED = new ConcurrentHashMap<>();

    private final String name;
    private final byte[] archive;

    private FunctionCode(String name, byte[] archive) {
        this.name = name;
        this.archive = archive;
    }

    /** That of an archive's path. */
    static FunctionCode read(String path) {
        return READ.computeIfAbsent(
                path,
                p -> {
                    try {
                        Path file = Path.of(p);
                        return new FunctionCode(
                                file.getFileName().toString(), Files.readAllBytes(file));
                    } catch (IOException gone) {
                        throw new UncheckedIOException("no code of user functions: " + p, gone);
                    }
                });
    }

    /** Whether this JVM is an executor's. */
    static boolean isFar() {
        SparkEnv env = SparkEnv.get();
        return env != null && !env.executorId().equals("driver");
    }

    /** Where the files are in this JVM; the folder goes with the JVM. */
    Path root() {
        return UNPACKED.computeIfAbsent(
                name,
                n -> {
                    String folder = Utils.getLocalDir(SparkEnv.get().conf());
                    Path made = Utils.createTempDir(folder, "ksql-functions").toPath();
                    try {
                        unpack(made);
                    } catch (IOException failed) {
                        throw new UncheckedIOException(
                                "cannot unpack user functions to " + made, failed);
                    }
                    return made;
                });
    }

    void unpack(Path folder) throws IOException {
        try (ZipInputStream files = new ZipInputStream(new ByteArrayInputStream(archive))) {
            for (ZipEntry entry = files.getNextEntry();
                    entry != null;
                    entry = files.getNextEntry()) {
                Path file = below(folder, entry.getName());
                Files.createDirectories(file.getParent());
                Files.copy(files, file);
            }
        }
    }

    /** A path of the server's machine, in a folder that the archive was unpacked to. */
    static Path below(Path folder, String path) {
        Path found = folder.resolve(path.replaceFirst("^/+", "")).normalize();
        if (!found.startsWith(folder)) {
            throw new IllegalArgumentException("the archive has a path outside of it: " + path);
        }
        return found;
    }
}
