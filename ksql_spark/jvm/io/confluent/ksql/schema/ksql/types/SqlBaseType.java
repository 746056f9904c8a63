package io.confluent.ksql.schema.ksql.types;

/** The kinds of SQL types. */
public enum SqlBaseType {
    BOOLEAN,
    INTEGER,
    BIGINT,
    DECIMAL,
    DOUBLE,
    STRING,
    ARRAY,
    MAP,
    STRUCT,
    TIME,
    DATE,
    TIMESTAMP,
    BYTES;

    public boolean isNumber() {
        return this == INTEGER || this == BIGINT || this == DECIMAL || this == DOUBLE;
    }

    public boolean isTime() {
        return this == TIME || this == DATE || this == TIMESTAMP;
    }
}
