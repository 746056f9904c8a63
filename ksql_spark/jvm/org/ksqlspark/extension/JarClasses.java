package org.ksqlspark.extension;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The classes of one jar. A jar has its own versions of libraries; it shares with us only what
 * functions and we talk in: Java's classes, ksqlDB's interfaces and Kafka's.
 */
final class JarClasses extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    /** By path, and what tells a file that was replaced. */
    private static final Map<String, JarClasses> OPEN = new ConcurrentHashMap<>();

    private JarClasses(URL jar) {
        super(new URL[] {jar}, JarClasses.class.getClassLoader());
    }

    static JarClasses of(Path jar) {
        String key;
        try {
            key = jar + " " + Files.getLastModifiedTime(jar).toMillis() + " " + Files.size(jar);
        } catch (IOException gone) {
            throw new IllegalStateException("the jar " + jar + " cannot be read", gone);
        }
        return OPEN.computeIfAbsent(
                key,
                k -> {
                    try {
                        return new JarClasses(jar.toUri().toURL());
                    } catch (MalformedURLException impossible) {
                        throw new IllegalStateException(impossible);
                    }
                });
    }

    private static boolean isShared(String name) {
        return name.startsWith("java.")
                || name.startsWith("io.confluent.ksql.")
                || name.startsWith("org.apache.kafka.");
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (isShared(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found == null) {
                try {
                    found = findClass(name);
                } catch (ClassNotFoundException notInTheJar) {
                    return super.loadClass(name, resolve);
                }
            }
            if (resolve) {
                resolveClass(found);
            }
            return found;
        }
    }

    @Override
    public URL getResource(String name) {
        URL own = findResource(name);
        return own != null ? own : super.getResource(name);
    }
}
