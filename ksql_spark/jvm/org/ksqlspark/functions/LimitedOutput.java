package org.ksqlspark.functions;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Bytes in memory, which fail to grow beyond the limit of a result. */
public final class LimitedOutput extends OutputStream {
    private final Limits limits;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    public LimitedOutput(Limits limits) {
        this.limits = limits;
    }

    /** The result would be larger than the limit. */
    public static final class TooLarge extends IOException {
        private static final long serialVersionUID = 1;
    }

    private void check(int more) throws TooLarge {
        if (!limits.allowBytes((long) bytes.size() + more)) {
            throw new TooLarge();
        }
    }

    @Override
    public void write(int b) throws TooLarge {
        check(1);
        bytes.write(b);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws TooLarge {
        check(length);
        bytes.write(from, offset, length);
    }

    /** All that was written. */
    public byte[] toByteArray() {
        return bytes.toByteArray();
    }
}
