package org.ksqlspark.state;

import java.io.Serializable;
import java.util.List;

/**
 * A pattern as states, each of which takes one row of a symbol, with the states that may follow,
 * the preferred one first.
 *
 * @param symbols the number of each state's symbol
 * @param first the states that take a match's first row
 * @param follow for each state those that take the next row, or at last ACCEPT: it is a match
 */
record Automaton(int[] symbols, int[] first, int[][] follow) implements Serializable {
    static final int ACCEPT = -1;

    static Automaton of(List<Integer> symbols, List<Integer> first, List<List<Integer>> follow) {
        int[][] next = follow.stream().map(Automaton::ints).toArray(int[][]::new);
        return new Automaton(ints(symbols), ints(first), next);
    }

    /** Whether rows that are a match may wait, as with more rows they are a preferred one. */
    boolean waits() {
        for (int[] next : follow) {
            if (next.length > 1 && next[next.length - 1] == ACCEPT) {
                return true;
            }
        }
        return false;
    }

    private static int[] ints(List<Integer> numbers) {
        return numbers.stream().mapToInt(Integer::intValue).toArray();
    }
}
