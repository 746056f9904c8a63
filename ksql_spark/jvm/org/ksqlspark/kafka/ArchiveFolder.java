package org.ksqlspark.kafka;

import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The files of an archive. Names are below its folder; a file that is not there is an IOException.
 */
interface ArchiveFolder {
    /** The names of the files directly in a folder, without that of the folder. */
    List<String> names(String folder) throws IOException;

    /** The contents of a small file. */
    byte[] read(String name) throws IOException;

    /** Whether a file is there. */
    boolean exists(String name) throws IOException;

    /** A file of Parquet. */
    InputFile parquet(String name) throws IOException;

    /**
     * An archive's.
     *
     * @param path of this machine, or a URI of a file system that Hadoop knows
     */
    static ArchiveFolder of(String path) throws IOException {
        if (!path.contains("://")) {
            return new Local(Path.of(path));
        }
        var folder = new org.apache.hadoop.fs.Path(path);
        return new Remote(folder.getFileSystem(ObjectStores.configuration()), folder);
    }

    /** Whether an error says that a file is not there. */
    static boolean isMissing(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof FileNotFoundException || cause instanceof NoSuchFileException) {
                return true;
            }
        }
        return false;
    }

    /**
     * Without Hadoop's file systems: whoever asks for the first of these decides which one
     * checkpoints get.
     */
    record Local(Path path) implements ArchiveFolder {
        @Override
        public List<String> names(String folder) throws IOException {
            try (Stream<Path> there = Files.list(path.resolve(folder))) {
                return there.map(file -> file.getFileName().toString()).toList();
            }
        }

        @Override
        public byte[] read(String name) throws IOException {
            return Files.readAllBytes(path.resolve(name));
        }

        @Override
        public boolean exists(String name) {
            return Files.exists(path.resolve(name));
        }

        @Override
        public InputFile parquet(String name) {
            return new LocalFile(path.resolve(name));
        }
    }

    /** Parquet's own LocalInputFile reads each byte with a system call. */
    record LocalFile(Path path) implements InputFile {
        @Override
        public long getLength() throws IOException {
            return Files.size(path);
        }

        @Override
        public SeekableInputStream newStream() throws IOException {
            FileChannel content = FileChannel.open(path);
            return new DelegatingSeekableInputStream(Channels.newInputStream(content)) {
                @Override
                public long getPos() throws IOException {
                    return content.position();
                }

                @Override
                public void seek(long position) throws IOException {
                    content.position(position);
                }
            };
        }
    }

    /** In an object store. */
    record Remote(FileSystem files, org.apache.hadoop.fs.Path path) implements ArchiveFolder {
        private org.apache.hadoop.fs.Path at(String name) {
            return new org.apache.hadoop.fs.Path(path, name);
        }

        @Override
        public List<String> names(String folder) throws IOException {
            List<String> found = new ArrayList<>();
            for (FileStatus file : files.listStatus(at(folder))) {
                found.add(file.getPath().getName());
            }
            return found;
        }

        @Override
        public byte[] read(String name) throws IOException {
            try (FSDataInputStream content = files.open(at(name))) {
                return content.readAllBytes();
            }
        }

        @Override
        public boolean exists(String name) throws IOException {
            return files.exists(at(name));
        }

        @Override
        public InputFile parquet(String name) throws IOException {
            return HadoopInputFile.fromStatus(files.getFileStatus(at(name)), files.getConf());
        }
    }
}
