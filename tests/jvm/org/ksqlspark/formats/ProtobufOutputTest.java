package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import com.google.protobuf.CodedOutputStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.IOException;

class ProtobufOutputTest {
    private static final byte[] NONE = {};

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CodedOutputStream theirs = CodedOutputStream.newInstance(bytes);
    private final ProtobufOutput ours = new ProtobufOutput();

    private void assertSame() throws IOException {
        theirs.flush();
        assertArrayEquals(bytes.toByteArray(), ours.after(NONE));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, -1, 127, 128, 16_383, 16_384, -65, Long.MIN_VALUE, Long.MAX_VALUE})
    void numbersAreThoseOfTheLibrary(long number) throws IOException {
        theirs.writeUInt64NoTag(number);
        ours.varint(number);
        theirs.writeSInt64NoTag(number);
        ours.zigZag(number);
        theirs.writeSInt32NoTag((int) number);
        ours.zigZag((int) number);
        theirs.writeFixed32NoTag((int) number);
        ours.fixed32((int) number);
        theirs.writeFixed64NoTag(number);
        ours.fixed64(number);
        if (number != 0) {
            theirs.writeInt64(3, number);
        }
        ours.field(3, number);
        assertSame();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 127, 128, 16_383, 16_384, 3_000_000})
    void whatFollowsItsLengthIsMovedWhereThatIsLong(int length) throws IOException {
        byte[] data = new byte[length];
        java.util.Arrays.fill(data, (byte) 7);
        theirs.writeByteArrayNoTag(data);
        ours.bytes(data);
        theirs.writeByteArrayNoTag(data);
        int start = ours.begin();
        for (byte one : data) {
            ours.varint(one);
        }
        ours.end(start);
        assertSame();
    }

    @Test
    void oneIsUsedForManyRecords() {
        ours.varint(5);
        ours.clear();
        ours.varint(6);
        assertArrayEquals(new byte[] {0, 1, 6}, ours.after(new byte[] {0, 1}));
    }
}
