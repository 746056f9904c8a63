package io.confluent.ksql.schema.ksql.types;

/** DECIMAL(precision, scale). */
public final class SqlDecimal extends SqlType {
    private final int precision;
    private final int scale;

    private SqlDecimal(int precision, int scale) {
        super(SqlBaseType.DECIMAL, "DECIMAL(" + precision + ", " + scale + ")");
        this.precision = precision;
        this.scale = scale;
    }

    public static SqlDecimal of(int precision, int scale) {
        return new SqlDecimal(precision, scale);
    }

    public int getPrecision() {
        return precision;
    }

    public int getScale() {
        return scale;
    }
}
