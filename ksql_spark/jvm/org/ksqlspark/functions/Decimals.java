package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

import java.math.BigDecimal;
import java.util.function.UnaryOperator;

/** Functions of DECIMALs with all their digits. */
public final class Decimals {
    private Decimals() {}

    /** (decimal): its negative, or its absolute value. Spark computes both with 34 digits. */
    public static final class Signed extends InvokeFunction<Decimal> {
        private final DecimalType type;
        private final boolean isAbsolute;

        public Signed(DataType type, boolean isAbsolute) {
            super(type, type);
            this.type = (DecimalType) type;
            this.isAbsolute = isAbsolute;
        }

        public Decimal invoke(Decimal value) {
            if (value == null) {
                return null;
            }
            UnaryOperator<BigDecimal> sign = isAbsolute ? BigDecimal::abs : BigDecimal::negate;
            BigDecimal found = sign.apply(value.toJavaBigDecimal());
            return Decimal.apply(found, type.precision(), type.scale());
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other)
                    && ((Signed) other).type.equals(type)
                    && ((Signed) other).isAbsolute == isAbsolute;
        }

        @Override
        public int hashCode() {
            return type.hashCode() + (isAbsolute ? 1 : 0);
        }
    }

    /** (array of decimals): their sum, NULLs left out; NULL if it does not fit their type. */
    public static final class Added extends InvokeFunction<Decimal> {
        private final DecimalType type;

        public Added(ArrayType type) {
            super(type.elementType(), type);
            this.type = (DecimalType) type.elementType();
        }

        public Decimal invoke(ArrayData values) {
            if (values == null) {
                return null;
            }
            BigDecimal sum = BigDecimal.ZERO.setScale(type.scale());
            for (int i = 0; i < values.numElements(); i++) {
                if (!values.isNullAt(i)) {
                    Decimal value = values.getDecimal(i, type.precision(), type.scale());
                    sum = sum.add(value.toJavaBigDecimal());
                }
            }
            return sum.precision() > type.precision()
                    ? null
                    : Decimal.apply(sum, type.precision(), type.scale());
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Added) other).type.equals(type);
        }

        @Override
        public int hashCode() {
            return type.hashCode();
        }
    }

    /** (decimal): its digits, without an exponent. */
    public static final class Text extends InvokeFunction<UTF8String> {
        public Text(DataType type) {
            super(DataTypes.StringType, type);
        }

        public UTF8String invoke(Decimal value) {
            return value == null
                    ? null
                    : UTF8String.fromString(value.toJavaBigDecimal().toPlainString());
        }
    }
}
