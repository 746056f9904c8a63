package org.ksqlspark.kafka;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkEnv;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * Object stores by Hadoop's file systems, with Spark's configuration: the first configuration that
 * asks for a file system decides which one checkpoints get.
 */
public final class ObjectStores {
    private static final String S3 = "org.apache.hadoop.fs.s3a.S3AFileSystem";

    /** The driver's; null: this JVM is an executor. */
    private static volatile Configuration driver;

    private ObjectStores() {}

    /**
     * Lets Hadoop in this JVM reach S3.
     *
     * @param hadoop the Spark context's
     * @param jars of the file system, for a JVM that has started without them
     */
    public static synchronized void reach(Configuration hadoop, String jars)
            throws MalformedURLException {
        if (hadoop.getClassByNameOrNull(S3) == null) {
            List<URL> urls = new ArrayList<>();
            for (String jar : jars.split(File.pathSeparator)) {
                urls.add(new File(jar).toURI().toURL());
            }
            hadoop.setClassLoader(
                    new URLClassLoader(urls.toArray(URL[]::new), hadoop.getClassLoader()));
        }
        driver = hadoop;
    }

    /** Spark's, with which S3 can be reached. */
    static Configuration configuration() {
        Configuration known = driver;
        if (known == null) {
            known = new Configuration();
            for (var setting : SparkEnv.get().conf().getAllWithPrefix("spark.hadoop.")) {
                known.set(setting._1(), setting._2());
            }
        }
        return known;
    }
}
