package org.ksqlspark.formats;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Readers of records by the schemas that these were written by. Most records have the schema of the
 * one before.
 */
final class ReaderCache<R> {
    private static final int KEPT = 1000;

    private final Function<Object, R> make;
    private final Map<Object, R> kept = new HashMap<>();
    private R last;
    private int lastId;

    /**
     * @param make makes the reader for a key, such as an id
     */
    ReaderCache(Function<Object, R> make) {
        this.make = make;
    }

    R byId(int id) {
        if (last == null || id != lastId) {
            last = by(id);
            lastId = id;
        }
        return last;
    }

    R by(Object key) {
        R found = kept.get(key);
        if (found == null) {
            if (kept.size() > KEPT) {
                kept.clear();
            }
            found = make.apply(key);
            kept.put(key, found);
        }
        return found;
    }
}
