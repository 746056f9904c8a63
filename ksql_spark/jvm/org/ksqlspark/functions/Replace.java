package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** (text, part, replacement): REPLACE. */
public final class Replace extends LimitedFunction<UTF8String> {
    public Replace(Limits limits) {
        super(
                limits,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType);
    }

    public UTF8String invoke(UTF8String text, UTF8String part, UTF8String replacement) {
        if (text == null || part == null || replacement == null || part.numBytes() == 0) {
            return part == null || replacement == null ? null : text;
        }
        int growth = replacement.numBytes() - part.numBytes();
        boolean isAllowed =
                growth <= 0
                        || isAllowed(text, growth, text.numBytes() / part.numBytes())
                        || isAllowed(text, growth, count(text, part));
        return isAllowed ? text.replace(part, replacement) : null;
    }

    private boolean isAllowed(UTF8String text, int growth, int times) {
        return limits.allowBytes(text.numBytes() + (long) growth * times);
    }

    private static int count(UTF8String text, UTF8String part) {
        int count = 0;
        for (int at = 0; (at = text.find(part, at)) >= 0; at += part.numBytes()) {
            count++;
        }
        return count;
    }
}
