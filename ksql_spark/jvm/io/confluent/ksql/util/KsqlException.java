package io.confluent.ksql.util;

/** What functions throw, and their schema providers. */
public class KsqlException extends RuntimeException {
    public KsqlException(String message) {
        super(message);
    }

    public KsqlException(String message, Throwable cause) {
        super(message, cause);
    }

    public KsqlException(Throwable cause) {
        super(cause);
    }
}
