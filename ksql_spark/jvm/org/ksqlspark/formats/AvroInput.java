package org.ksqlspark.formats;

import org.apache.avro.Schema;

/**
 * Avro's binary encoding, read from an array. Avro's own decoder makes an array of any length that
 * the bytes ask for, so that a damaged record could take all memory; this one looks first.
 */
final class AvroInput {
    private static final int MAX_NESTED = 1000;

    private byte[] data;
    private int at;
    private int depth;

    void start(byte[] bytes, int from) {
        data = bytes;
        at = from;
        depth = 0;
    }

    int left() {
        return data.length - at;
    }

    long number() {
        long read = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            byte next = one();
            read |= (next & 0x7FL) << shift;
            if (next >= 0) {
                return read >>> 1 ^ -(read & 1);
            }
        }
        throw new IllegalArgumentException("A number is too long.");
    }

    int integer() {
        long read = number();
        if (read != (int) read) {
            throw new IllegalArgumentException("A number does not fit INT.");
        }
        return (int) read;
    }

    private byte one() {
        if (at >= data.length) {
            throw ended();
        }
        return data[at++];
    }

    boolean truth() {
        return one() != 0;
    }

    float single() {
        return Float.intBitsToFloat((int) fixed(Float.BYTES));
    }

    double real() {
        return Double.longBitsToDouble(fixed(Double.BYTES));
    }

    private long fixed(int size) {
        skip(size);
        long read = 0;
        for (int i = 1; i <= size; i++) {
            read = read << 8 | data[at - i] & 0xFF;
        }
        return read;
    }

    byte[] bytes() {
        return bytes(number());
    }

    byte[] bytes(long size) {
        int from = at;
        skip(size);
        return java.util.Arrays.copyOfRange(data, from, at);
    }

    void skip(long size) {
        if (size < 0 || size > left()) {
            throw ended();
        }
        at += (int) size;
    }

    /** The number of items in the next block of an array or map; 0: there is none. */
    int block() {
        long count = number();
        if (count < 0) {
            count = -count;
            number(); // the block's size, for those who skip
        }
        if (count < 0 || count > left()) { // an item has a byte at least
            throw ended();
        }
        return (int) count;
    }

    private static IllegalArgumentException ended() {
        return new IllegalArgumentException("It ends too early.");
    }

    /** Passes over a value; a type that is part of itself may be nested without end. */
    void skip(Schema schema) {
        if (++depth > MAX_NESTED) {
            throw new IllegalArgumentException("It is nested too deeply.");
        }
        skipValue(schema);
        depth--;
    }

    private void skipValue(Schema schema) {
        switch (schema.getType()) {
            case BOOLEAN -> skip(1);
            case INT, LONG, ENUM -> number();
            case FLOAT -> skip(Float.BYTES);
            case DOUBLE -> skip(Double.BYTES);
            case STRING, BYTES -> skip(number());
            case FIXED -> skip(schema.getFixedSize());
            case UNION -> skip(branch(schema));
            case RECORD -> {
                for (Schema.Field field : schema.getFields()) {
                    skip(field.schema());
                }
            }
            case ARRAY -> {
                for (int count; (count = block()) > 0; ) {
                    for (int i = 0; i < count; i++) {
                        skip(schema.getElementType());
                    }
                }
            }
            case MAP -> {
                for (int count; (count = block()) > 0; ) {
                    for (int i = 0; i < count; i++) {
                        skip(number());
                        skip(schema.getValueType());
                    }
                }
            }
            default -> {} // null has no bytes
        }
    }

    private Schema branch(Schema union) {
        return union.getTypes().get(index(union.getTypes().size()));
    }

    /** The number of a union's branch or of an enum's symbol. */
    int index(int count) {
        int index = integer();
        if (index < 0 || index >= count) {
            throw new IllegalArgumentException("There is no choice number " + index + ".");
        }
        return index;
    }
}
