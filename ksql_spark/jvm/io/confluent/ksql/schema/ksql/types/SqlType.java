package io.confluent.ksql.schema.ksql.types;

import java.util.Objects;

/** A SQL type. Two are equal if their texts are. */
public abstract class SqlType {
    private final SqlBaseType baseType;
    private final String text;

    SqlType(SqlBaseType baseType, String text) {
        this.baseType = Objects.requireNonNull(baseType);
        this.text = text;
    }

    public SqlBaseType baseType() {
        return baseType;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SqlType that && text.equals(that.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** As SQL. */
    @Override
    public String toString() {
        return text;
    }
}
