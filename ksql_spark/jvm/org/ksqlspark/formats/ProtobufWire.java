package org.ksqlspark.formats;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;

import java.io.IOException;

/**
 * Protobuf's wire format, strictly. The methods of CodedInputStream take lengths modulo 2^32, and
 * numbers whose tenth byte says that more bytes follow; so they would make values of damaged
 * records.
 */
final class ProtobufWire {
    private static final int BITS = 7;
    private static final int MAX_BITS = 70;

    /** Groups within groups, as in Google's library. */
    private static final int MAX_NESTED = 100;

    private ProtobufWire() {}

    /** A number of one to ten bytes. */
    static long varint(CodedInputStream in) throws IOException {
        long number = 0;
        for (int shift = 0; shift < MAX_BITS; shift += BITS) {
            byte next = in.readRawByte();
            number |= (long) (next & Byte.MAX_VALUE) << shift;
            if (next >= 0) {
                return number;
            }
        }
        throw new IllegalArgumentException("It is not a Protobuf message: a number has no end.");
    }

    /** A number with a sign, as sint32 and sint64 have it. */
    static long zigZag(CodedInputStream in) throws IOException {
        return CodedInputStream.decodeZigZag64(varint(in));
    }

    /** The tag of the next field; 0 at the end. */
    static int tag(CodedInputStream in) throws IOException {
        if (in.isAtEnd()) {
            return 0;
        }
        int tag = (int) varint(in);
        if (WireFormat.getTagFieldNumber(tag) == 0) {
            throw new IllegalArgumentException(
                    "It is not a Protobuf message: a field has the number 0.");
        }
        return tag;
    }

    /** How many bytes follow. */
    static int length(CodedInputStream in) throws IOException {
        long length = varint(in);
        if (length < 0 || length > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("It is not a Protobuf message: it ends too early.");
        }
        return (int) length;
    }

    /** A length, and so many bytes. */
    static byte[] bytes(CodedInputStream in) throws IOException {
        return in.readRawBytes(length(in));
    }

    /** Passes over a field whose tag was read. */
    static void skip(CodedInputStream in, int tag) throws IOException {
        skip(in, tag, 1);
    }

    private static void skip(CodedInputStream in, int tag, int depth) throws IOException {
        switch (WireFormat.getTagWireType(tag)) {
            case WireFormat.WIRETYPE_VARINT -> varint(in);
            case WireFormat.WIRETYPE_FIXED64 -> in.skipRawBytes(Long.BYTES);
            case WireFormat.WIRETYPE_FIXED32 -> in.skipRawBytes(Integer.BYTES);
            case WireFormat.WIRETYPE_LENGTH_DELIMITED -> in.skipRawBytes(length(in));
            case WireFormat.WIRETYPE_START_GROUP -> skipGroup(in, tag, depth);
            case WireFormat.WIRETYPE_END_GROUP ->
                    throw new IllegalArgumentException("A group ends that has not begun.");
            default ->
                    throw new IllegalArgumentException(
                            "It is not a Protobuf message: there is no wire type "
                                    + WireFormat.getTagWireType(tag)
                                    + ".");
        }
    }

    private static void skipGroup(CodedInputStream in, int start, int depth) throws IOException {
        if (depth > MAX_NESTED) {
            throw new IllegalArgumentException(
                    "It is not a Protobuf message: it is nested too deeply.");
        }
        int end = start + WireFormat.WIRETYPE_END_GROUP - WireFormat.WIRETYPE_START_GROUP;
        for (int tag = tag(in); tag != end; tag = tag(in)) {
            if (tag == 0) {
                throw new IllegalArgumentException(
                        "It is not a Protobuf message: it ends too early.");
            }
            skip(in, tag, depth + 1);
        }
    }
}
