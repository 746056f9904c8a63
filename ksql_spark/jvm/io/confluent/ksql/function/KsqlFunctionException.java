package io.confluent.ksql.function;

import io.confluent.ksql.util.KsqlException;

/** What functions throw. */
public class KsqlFunctionException extends KsqlException {
    public KsqlFunctionException(String message) {
        super(message);
    }

    public KsqlFunctionException(String message, Throwable cause) {
        super(message, cause);
    }
}
