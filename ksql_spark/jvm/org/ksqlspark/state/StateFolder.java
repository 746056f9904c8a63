package org.ksqlspark.state;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.ksqlspark.internals.state.CheckpointFiles;
import org.ksqlspark.internals.state.UploadedFiles;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A folder on any of Hadoop's file systems, for the server (ksql_spark/spark/hadoop_folder.py). */
public final class StateFolder {
    private final Path path;
    private final Configuration settings;
    private final FileSystem system;

    /**
     * @param uri where it is
     * @param settings of Hadoop
     */
    public StateFolder(String uri, Configuration settings) throws IOException {
        this.path = new Path(uri);
        this.settings = settings;
        this.system = path.getFileSystem(settings);
    }

    /** Whether there is such a folder. */
    public boolean exists() throws IOException {
        return system.exists(path);
    }

    /** The names of what is in it; none if it does not exist. */
    public List<String> names() throws IOException {
        List<String> names = new ArrayList<>();
        try {
            for (FileStatus status : system.listStatus(path)) {
                names.add(status.getPath().getName());
            }
        } catch (FileNotFoundException isNotThere) {
            return List.of();
        }
        return names;
    }

    /** The text of a file; null if there is no such file. */
    public byte[] read(String name) throws IOException {
        try (FSDataInputStream file = system.open(new Path(path, name))) {
            return file.readAllBytes();
        } catch (FileNotFoundException isNotThere) {
            return null;
        }
    }

    /** Writes a file, as a whole or not at all. */
    public void write(String name, String text) throws IOException {
        CheckpointFileManager files = CheckpointFiles.of(path, settings);
        if (!(files instanceof UploadedFiles)) {
            files.mkdirs(path);
        }
        FSDataOutputStream file = files.createAtomic(new Path(path, name), true);
        file.write(text.getBytes(StandardCharsets.UTF_8));
        file.close();
    }

    /** Removes a file, if it is there. */
    public void forget(String name) throws IOException {
        system.delete(new Path(path, name), false);
    }

    /** Removes the folder with all that is in it. */
    public void remove() throws IOException {
        system.delete(path, true);
    }
}
