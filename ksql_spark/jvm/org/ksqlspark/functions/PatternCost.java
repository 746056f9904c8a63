package org.ksqlspark.functions;

/**
 * How many steps a search with a regular expression may take without looking at a character, which
 * {@link Searched} does not count: {@code (?:(?:){999}){999}} takes a million where it begins, and
 * {@code (|)(|)(|)} doubles them with each part where the text ends.
 *
 * <p>It reads patterns that Java accepts, and may only overestimate.
 */
final class PatternCost {
    /** The most steps between two characters. */
    private static final double MOST = 100_000;

    private final String pattern;
    private int at;

    /** Whether white space and what follows # do not count: flag x. */
    private boolean hasComments;

    private PatternCost(String pattern) {
        this.pattern = pattern;
    }

    /**
     * A part of a pattern.
     *
     * @param ways how often it can match no characters; 0: it needs one
     * @param steps how many steps all of them take
     * @param after in how many ways it can end after its last character
     */
    private record Part(double ways, double steps, double after) {
        static final Part CHARACTER = new Part(0, 0, 1);
        static final Part NOTHING = new Part(1, 1, 1);

        /** As one way at most, as an atomic group is. */
        Part once() {
            return new Part(Math.min(ways, 1), steps, 1);
        }

        Part repeated(long least, double most) {
            if (ways == 0) {
                return new Part(least == 0 ? 1 : 0, 1 + steps + after * steps, after);
            }
            // Java ends a loop that has matched no characters
            double times = Math.max(1, Math.min(most, least + 1.0));
            double all = Math.pow(ways, times);
            double steps = ways == 1 ? times * (this.steps + 1) : all * 2 * (this.steps + 1);
            return new Part(all + (least == 0 ? 1 : 0), steps, Math.max(after, 1) * all);
        }
    }

    /** Whether searches with a pattern look at characters often enough to be counted. */
    static boolean isCounted(String pattern) {
        PatternCost cost = new PatternCost(pattern);
        double steps = 0;
        while (cost.at < pattern.length()) { // more than once only after a ) that is none
            steps += cost.choice().steps;
            cost.at++;
        }
        return steps <= MOST;
    }

    private boolean is(String sign) {
        return pattern.startsWith(sign, at);
    }

    private boolean take(String sign) {
        boolean isThere = is(sign);
        at += isThere ? sign.length() : 0;
        return isThere;
    }

    /** Alternatives, up to a closing parenthesis. */
    private Part choice() {
        Part first = sequence();
        double ways = first.ways;
        double steps = first.steps;
        double after = first.after;
        while (take("|")) {
            Part next = sequence();
            ways += next.ways;
            steps += 1 + next.steps;
            after = Math.max(after, next.after);
        }
        return new Part(ways, steps, after);
    }

    private Part sequence() {
        double ways = 1;
        double steps = 0;
        double run = 1;
        skipComments();
        while (at < pattern.length() && !is("|") && !is(")")) {
            Part part = quantified(atom());
            steps += run * part.steps;
            ways *= part.ways;
            run = part.ways == 0 ? part.after : Math.max(run * part.ways, part.after);
            skipComments();
        }
        return new Part(ways, steps, run);
    }

    private Part quantified(Part part) {
        Part found = part;
        skipComments();
        while (at < pattern.length() && "?*+{".indexOf(pattern.charAt(at)) >= 0) {
            long least = is("+") ? 1 : 0;
            double most = is("?") ? 1 : Double.POSITIVE_INFINITY;
            if (take("{")) {
                int end = pattern.indexOf('}', at);
                String[] counts = pattern.substring(at, Math.max(at, end)).split(",", -1);
                least = number(counts[0], 0);
                most = counts.length == 1 ? least : number(counts[1], Integer.MAX_VALUE);
                at = Math.max(at, end);
            }
            at++;
            found = found.repeated(least, most);
            if (take("+")) {
                found = found.once();
            } else {
                take("?");
            }
            skipComments();
        }
        return found;
    }

    private static long number(String digits, long otherwise) {
        return digits.isBlank() ? otherwise : Long.parseLong(digits.strip());
    }

    private Part atom() {
        if (take("(")) {
            return group();
        }
        if (take("[")) {
            skipClass();
            return Part.CHARACTER;
        }
        char c = pattern.charAt(at++);
        if (c == '\\') {
            return escape();
        }
        return c == '^' || c == '$' ? Part.NOTHING : Part.CHARACTER;
    }

    private Part group() {
        boolean hadComments = hasComments;
        boolean isAtomic = false;
        boolean isLook = false;
        if (take("?")) {
            isAtomic = take(">");
            isLook = take("=") || take("!") || take("<=") || take("<!");
            if (take("<")) {
                at = Math.max(at, pattern.indexOf('>', at) + 1);
            } else if (!isAtomic && !isLook && !flags()) {
                return Part.NOTHING;
            }
        }
        Part inner = choice();
        at++;
        hasComments = hadComments;
        if (isLook) {
            return new Part(1, 1 + inner.steps, 1);
        }
        return isAtomic ? inner.once() : inner;
    }

    /** Takes flags; whether they are those of a group, not of the rest of the one around them. */
    private boolean flags() {
        boolean isOn = true;
        while (at < pattern.length()) {
            switch (pattern.charAt(at++)) {
                case ':' -> {
                    return true;
                }
                case ')' -> {
                    return false;
                }
                case '-' -> isOn = false;
                case 'x' -> hasComments = isOn;
                default -> {}
            }
        }
        return false;
    }

    private void skipComments() {
        while (hasComments && at < pattern.length()) {
            if (is("#")) {
                int end = pattern.indexOf('\n', at);
                at = end < 0 ? pattern.length() : end + 1;
            } else if (Character.isWhitespace(pattern.charAt(at))) {
                at++;
            } else {
                return;
            }
        }
    }

    private Part escape() {
        if (at >= pattern.length()) {
            return Part.CHARACTER;
        }
        char c = pattern.charAt(at++);
        if (c == 'Q') {
            int end = pattern.indexOf("\\E", at);
            boolean isEmpty = end == at;
            at = end < 0 ? pattern.length() : end + 2;
            return isEmpty ? Part.NOTHING : Part.CHARACTER;
        }
        if ("pPxNb".indexOf(c) >= 0 && is("{")) {
            at = Math.max(at, pattern.indexOf('}', at) + 1);
        } else if (c == 'k') {
            at = Math.max(at, pattern.indexOf('>', at) + 1);
        }
        return "bBAGzZEk123456789".indexOf(c) >= 0 ? Part.NOTHING : Part.CHARACTER;
    }

    /** Moves behind a class, in which there may be others. */
    private void skipClass() {
        take("^");
        for (int depth = 1, from = at; at < pattern.length() && depth > 0; at++) {
            switch (pattern.charAt(at)) {
                case '\\' -> at++;
                case '[' -> depth++;
                case ']' -> depth -= at == from ? 0 : 1;
                default -> {}
            }
        }
    }
}
