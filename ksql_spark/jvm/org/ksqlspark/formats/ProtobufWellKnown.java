package org.ksqlspark.formats;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DecimalType;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;

/** The messages that TIMESTAMP, DATE, TIME and DECIMAL are in Protobuf. */
final class ProtobufWellKnown {
    private static final long MICROS = 1000;
    private static final long SECOND_MICROS = 1_000_000;
    private static final int NANOS_PER_MICRO = 1000;
    private static final int NANOS_PER_MILLI = 1_000_000;

    private ProtobufWellKnown() {}

    /** The numbers in the fields 1 to 4 of a message. */
    private static long[] numbers(CodedInputStream in) throws IOException {
        long[] found = new long[5];
        for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
            int number = WireFormat.getTagFieldNumber(tag);
            if (number < found.length
                    && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
                found[number] = ProtobufWire.varint(in);
            } else {
                ProtobufWire.skip(in, tag);
            }
        }
        return found;
    }

    static Object timestamp(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        long millis = Math.floorDiv(n[2], NANOS_PER_MILLI);
        return Math.addExact(Math.multiplyExact(n[1], SECOND_MICROS), millis * MICROS);
    }

    static void timestamp(ProtobufOutput out, SpecializedGetters from, int at) {
        long micros = from.getLong(at);
        out.field(1, Math.floorDiv(micros, SECOND_MICROS));
        out.field(2, Math.floorMod(micros, SECOND_MICROS) * NANOS_PER_MICRO);
    }

    /** NULL for an empty date, which is what a NULL in a list is written as. */
    static Object date(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        if (n[1] == 0 && n[2] == 0 && n[3] == 0) {
            return null;
        }
        int year = Math.toIntExact(n[1]);
        int month = Math.toIntExact(n[2]);
        int day = Math.toIntExact(n[3]);
        try {
            return Math.toIntExact(LocalDate.of(year, month, day).toEpochDay());
        } catch (DateTimeException bad) {
            throw new IllegalArgumentException(
                    "There is no date of year %s, month %s, day %s.".formatted(year, month, day));
        }
    }

    static void date(ProtobufOutput out, SpecializedGetters from, int at) {
        LocalDate date = LocalDate.ofEpochDay(from.getInt(at));
        out.field(1, date.getYear());
        out.field(2, date.getMonthValue());
        out.field(3, date.getDayOfMonth());
    }

    static Object time(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        for (long part : n) { // so that nothing below is too large for a long
            Math.toIntExact(part);
        }
        return TimeField.fit(
                ((n[1] * 60 + n[2]) * 60 + n[3]) * 1000
                        + Math.floorDiv(n[4], (long) NANOS_PER_MILLI));
    }

    static void time(ProtobufOutput out, SpecializedGetters from, int at) {
        int millis = from.getInt(at);
        int seconds = millis / 1000;
        out.field(1, seconds / 3600);
        out.field(2, seconds / 60 % 60);
        out.field(3, seconds % 60);
        out.field(4, millis % 1000 * NANOS_PER_MILLI);
    }

    static Object decimal(CodedInputStream in, DecimalType type) throws IOException {
        byte[] digits = {};
        int scale = 0;
        for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
            switch (tag) {
                case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED ->
                        digits = ProtobufWire.bytes(in);
                case 3 << 3 | WireFormat.WIRETYPE_VARINT -> scale = (int) ProtobufWire.varint(in);
                default -> ProtobufWire.skip(in, tag);
            }
        }
        BigInteger unscaled = digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits);
        return DecimalField.fit(new BigDecimal(unscaled, scale), type);
    }

    static ProtobufWriter decimal(DecimalType type) {
        return (out, from, at) -> {
            BigDecimal number =
                    from.getDecimal(at, type.precision(), type.scale())
                            .toJavaBigDecimal()
                            .setScale(type.scale());
            out.varint(1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.bytes(number.unscaledValue().toByteArray());
            out.field(2, type.precision());
            out.field(3, type.scale());
        };
    }
}
