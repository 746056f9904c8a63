package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A function of exact sums over rows of numbers. Rows may have a sign, -1 to retract one: it leaves
 * no rounding error.
 *
 * <p>Stored: each sum as its scale (4 bytes), the size of its unscaled value (4 bytes), and that
 * value in two's complement.
 */
abstract class ExactSums<R>
        implements AggregateFunction<BigDecimal[], R>, StateLayout<BigDecimal[]> {
    /** How many numbers a row has, before its sign. */
    protected final int columns;

    private final String name;
    private final DataType type;
    private final boolean isSigned;
    private final int sums;

    /**
     * @param type of the numbers and the result
     * @param isSigned whether rows have a sign
     * @param sums how many sums there are
     */
    ExactSums(String name, DataType type, int columns, boolean isSigned, int sums) {
        this.name = name;
        this.type = type;
        this.columns = columns;
        this.isSigned = isSigned;
        this.sums = sums;
    }

    /** Adds the numbers of a row, of which none is NULL, to the sums. */
    abstract void add(BigDecimal[] state, InternalRow input, BigDecimal sign);

    @Override
    public DataType[] inputTypes() {
        DataType[] types = new DataType[columns + (isSigned ? 1 : 0)];
        Arrays.fill(types, type);
        if (isSigned) {
            types[columns] = DataTypes.IntegerType;
        }
        return types;
    }

    @Override
    public DataType resultType() {
        return type;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String canonicalName() {
        return "ksql." + name + columns + type.catalogString() + isSigned;
    }

    /** Tells Spark which calls are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ExactSums<?> function
                && canonicalName().equals(function.canonicalName());
    }

    @Override
    public int hashCode() {
        return canonicalName().hashCode();
    }

    @Override
    public BigDecimal[] newAggregationState() {
        BigDecimal[] state = new BigDecimal[sums];
        Arrays.fill(state, BigDecimal.ZERO);
        return state;
    }

    @Override
    public BigDecimal[] update(BigDecimal[] state, InternalRow input) {
        if (!input.isNullAt(0) && !input.isNullAt(columns - 1)) {
            add(
                    state,
                    input,
                    isSigned ? BigDecimal.valueOf(input.getInt(columns)) : BigDecimal.ONE);
        }
        return state;
    }

    @Override
    public BigDecimal[] merge(BigDecimal[] state, BigDecimal[] other) {
        for (int i = 0; i < state.length; i++) {
            state[i] = state[i].add(other[i]);
        }
        return state;
    }

    @Override
    public void write(BigDecimal[] state, DataOutputStream out) throws IOException {
        for (BigDecimal each : state) {
            // a row that is gone may have needed digits that are zeros now
            BigDecimal sum = each.scale() > 0 ? each.stripTrailingZeros() : each;
            byte[] unscaled = sum.unscaledValue().toByteArray();
            out.writeInt(sum.scale());
            out.writeInt(unscaled.length);
            out.write(unscaled);
        }
    }

    @Override
    public BigDecimal[] read(ByteBuffer in) {
        BigDecimal[] state = newAggregationState();
        for (int i = 0; i < state.length; i++) {
            int scale = in.getInt();
            byte[] unscaled = new byte[in.getInt()];
            in.get(unscaled);
            state[i] = new BigDecimal(new BigInteger(unscaled), scale);
        }
        return state;
    }
}
