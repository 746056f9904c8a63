package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.List;

class ColumnNamesTest {
    @Test
    void theSameNameIsFoundBeforeOneInAnotherCase() {
        List<String> names = List.of("AB", "ab", "Ab", "c");
        assertEquals(2, ColumnNames.first(names, "Ab"));
        assertEquals(2, ColumnNames.last(names, "Ab"));
        assertEquals(0, ColumnNames.first(names, "aB"));
        assertEquals(2, ColumnNames.last(names, "aB"));
        assertEquals(3, ColumnNames.first(names, "C"));
        assertEquals(-1, ColumnNames.first(names, "d"));
        assertEquals(-1, ColumnNames.last(names, "d"));
    }
}
