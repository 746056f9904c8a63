package io.confluent.ksql.schema.ksql.types;

/** ARRAY. */
public final class SqlArray extends SqlType {
    private final SqlType itemType;

    private SqlArray(SqlType itemType) {
        super(SqlBaseType.ARRAY, "ARRAY<" + itemType + ">");
        this.itemType = itemType;
    }

    public static SqlArray of(SqlType itemType) {
        return new SqlArray(itemType);
    }

    public SqlType getItemType() {
        return itemType;
    }
}
