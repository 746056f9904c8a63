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
        fill(hadoop);
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
            fill(known);
        }
        return known;
    }

    /** What the environment says, as delta-rs and obstore understand it. */
    private static void fill(Configuration hadoop) {
        set(hadoop, "fs.s3a.endpoint", "AWS_ENDPOINT_URL", "AWS_ENDPOINT");
        set(hadoop, "fs.s3a.endpoint.region", "AWS_REGION", "AWS_DEFAULT_REGION");
        set(hadoop, "fs.s3a.access.key", "AWS_ACCESS_KEY_ID");
        set(hadoop, "fs.s3a.secret.key", "AWS_SECRET_ACCESS_KEY");
        set(hadoop, "fs.s3a.session.token", "AWS_SESSION_TOKEN");
        if (hadoop.get("fs.s3a.endpoint", "").startsWith("http")) {
            hadoop.setIfUnset("fs.s3a.path.style.access", "true");
        }
    }

    private static void set(Configuration hadoop, String name, String... variables) {
        for (String variable : variables) {
            String value = System.getenv(variable);
            if (value != null && !value.isEmpty() && hadoop.getTrimmed(name, "").isEmpty()) {
                hadoop.set(name, value);
            }
        }
    }
}
