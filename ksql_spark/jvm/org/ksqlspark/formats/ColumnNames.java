package org.ksqlspark.formats;

import java.util.List;
import java.util.Locale;

/** Which of some names is meant: the same one, or else one that differs only in case. */
final class ColumnNames {
    private ColumnNames() {}

    /** Its place; -1: there is none. Of several that differ in case, the first. */
    static int first(List<String> names, String wanted) {
        int exact = names.indexOf(wanted);
        for (int i = 0; exact < 0 && i < names.size(); i++) {
            exact = isSame(names.get(i), wanted) ? i : -1;
        }
        return exact;
    }

    /** The same; of several that differ in case, the last. */
    static int last(List<String> names, String wanted) {
        int exact = names.indexOf(wanted);
        for (int i = names.size() - 1; exact < 0 && i >= 0; i--) {
            exact = isSame(names.get(i), wanted) ? i : -1;
        }
        return exact;
    }

    private static boolean isSame(String one, String other) {
        return one.toUpperCase(Locale.ROOT).equals(other.toUpperCase(Locale.ROOT));
    }
}
