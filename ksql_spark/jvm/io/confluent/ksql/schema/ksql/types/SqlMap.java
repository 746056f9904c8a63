package io.confluent.ksql.schema.ksql.types;

/** MAP. */
public final class SqlMap extends SqlType {
    private final SqlType keyType;
    private final SqlType valueType;

    private SqlMap(SqlType keyType, SqlType valueType) {
        super(SqlBaseType.MAP, "MAP<" + keyType + ", " + valueType + ">");
        this.keyType = keyType;
        this.valueType = valueType;
    }

    public static SqlMap of(SqlType keyType, SqlType valueType) {
        return new SqlMap(keyType, valueType);
    }

    public SqlType getKeyType() {
        return keyType;
    }

    public SqlType getValueType() {
        return valueType;
    }
}
