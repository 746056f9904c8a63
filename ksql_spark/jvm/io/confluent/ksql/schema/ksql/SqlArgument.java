package io.confluent.ksql.schema.ksql;

import io.confluent.ksql.schema.ksql.types.SqlType;

import java.util.Objects;
import java.util.Optional;

/** The type of an argument, for schema providers; that of NULL is absent. */
public final class SqlArgument {
    private final SqlType type;

    private SqlArgument(SqlType type) {
        this.type = type;
    }

    public static SqlArgument of(SqlType type) {
        return new SqlArgument(type);
    }

    public Optional<SqlType> getSqlType() {
        return Optional.ofNullable(type);
    }

    /** The type; null: that of NULL. */
    public SqlType getSqlTypeOrThrow() {
        return type;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SqlArgument that && Objects.equals(type, that.type);
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(type);
    }

    @Override
    public String toString() {
        return String.valueOf(type);
    }
}
