"""Services that we start or fetch: the embedded broker, Java, JVM artifacts, user functions' descriptions."""
