package org.ksqlspark.formats;

/**
 * A TIME as it stands in a record. Decoders are told of a column that is one by Spark's type TIME;
 * rows have it as an INT.
 */
final class TimeField {
    /** The name of the type of these columns. */
    static final String TYPE = "time(3)";

    /** Included: Connect's times and ksqlDB allow the end of the day. */
    private static final int DAY_MS = 86_400_000;

    private TimeField() {}

    /** Milliseconds of the day; throws where the day has no such. */
    static Integer fit(long milliseconds) {
        if (milliseconds < 0 || milliseconds > DAY_MS) {
            throw new IllegalArgumentException(
                    "There are no " + milliseconds + " milliseconds in a day, as a TIME needs.");
        }
        return (int) milliseconds;
    }
}
