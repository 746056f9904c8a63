package org.ksqlspark.functions;

/**
 * A text in which a regular expression is looked for, but not for ever: some patterns look at a
 * text more often than there are seconds. The limit is one of steps, not of time, so that a record
 * has the same result again.
 */
final class Searched implements CharSequence {
    /** How many characters may be looked at in any text, and how often in a long one. */
    private static final long ANY = 10_000_000, EACH = 100;

    private final String text;
    private long left;

    Searched(String text) {
        this.text = text;
        this.left = allowed(text.length());
    }

    /** How many steps a search in a text of this length may take. */
    static long allowed(int length) {
        return ANY + EACH * length;
    }

    /** There is no saying whether the pattern is in the text. */
    static final class GaveUp extends RuntimeException {
        private static final long serialVersionUID = 1;

        GaveUp() {
            super("too many steps", null, false, false);
        }
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public char charAt(int index) {
        if (--left < 0) {
            throw new GaveUp();
        }
        return text.charAt(index);
    }

    @Override
    public CharSequence subSequence(int start, int end) {
        return text.substring(start, end);
    }

    @Override
    public String toString() {
        return text;
    }
}
