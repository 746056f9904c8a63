package io.confluent.ksql.schema.ksql.types;

/** The types by their names. */
public final class SqlTypes {
    public static final SqlPrimitiveType BOOLEAN = SqlPrimitiveType.of(SqlBaseType.BOOLEAN);
    public static final SqlPrimitiveType INTEGER = SqlPrimitiveType.of(SqlBaseType.INTEGER);
    public static final SqlPrimitiveType BIGINT = SqlPrimitiveType.of(SqlBaseType.BIGINT);
    public static final SqlPrimitiveType DOUBLE = SqlPrimitiveType.of(SqlBaseType.DOUBLE);
    public static final SqlPrimitiveType STRING = SqlPrimitiveType.of(SqlBaseType.STRING);
    public static final SqlPrimitiveType BYTES = SqlPrimitiveType.of(SqlBaseType.BYTES);
    public static final SqlPrimitiveType TIME = SqlPrimitiveType.of(SqlBaseType.TIME);
    public static final SqlPrimitiveType DATE = SqlPrimitiveType.of(SqlBaseType.DATE);
    public static final SqlPrimitiveType TIMESTAMP = SqlPrimitiveType.of(SqlBaseType.TIMESTAMP);

    private SqlTypes() {}

    public static SqlDecimal decimal(int precision, int scale) {
        return SqlDecimal.of(precision, scale);
    }

    public static SqlArray array(SqlType itemType) {
        return SqlArray.of(itemType);
    }

    public static SqlMap map(SqlType keyType, SqlType valueType) {
        return SqlMap.of(keyType, valueType);
    }

    public static SqlStruct.Builder struct() {
        return SqlStruct.builder();
    }
}
