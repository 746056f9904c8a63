package io.confluent.ksql.schema.ksql.types;

import java.util.Locale;

/** A type without parameters. */
public final class SqlPrimitiveType extends SqlType {
    private SqlPrimitiveType(SqlBaseType baseType) {
        super(baseType, baseType.name());
    }

    public static SqlPrimitiveType of(SqlBaseType baseType) {
        return new SqlPrimitiveType(baseType);
    }

    public static SqlPrimitiveType of(String name) {
        return of(SqlBaseType.valueOf(name.toUpperCase(Locale.ROOT)));
    }
}
