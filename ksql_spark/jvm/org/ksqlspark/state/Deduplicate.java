package org.ksqlspark.state;

/**
 * Passes the first row of each key on (DISTINCT ON, reference §6.13).
 *
 * <p>With WITHIN, a key is forgotten once stream time is more than that past its first row. A queue
 * in the order of arrival says which keys are to be removed then; a key that is forgotten but not
 * removed yet counts as removed. A row that would be forgotten at once is passed on and not stored.
 */
final class Deduplicate extends KeyedOperator {
    /** So many keys are removed for one record at most, so that none waits long. */
    private static final int MOST = 1000;

    /** How long a key is remembered, ms; negative: forever. */
    private final long within;

    /** The event time of each key's first row. */
    private transient StateCache.Cached<Long> firsts;

    /** With the times of their first rows. */
    private transient KeyQueue queue;

    Deduplicate(long within) {
        this.within = within;
    }

    @Override
    protected void open() {
        firsts = longs("firsts");
        if (within >= 0) {
            queue = new KeyQueue(this);
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        Long first = firsts.getValue(key);
        if (first != null && !isForgotten(first)) {
            return;
        }
        emit(key, ts, value, null);
        if (!isForgotten(ts)) {
            firsts.updateValue(key, ts);
            if (within >= 0) {
                queue.append(key, ts);
            }
        }
        if (within >= 0) {
            removeForgotten();
        }
    }

    private boolean isForgotten(long first) {
        return within >= 0 && first < streamTime - within;
    }

    private void removeForgotten() {
        for (int n = 0; n < MOST; n++) {
            KeyQueue.Entry entry = queue.poll(this::isForgotten);
            if (entry == null) {
                return;
            }
            Long first = firsts.getValue(entry.key());
            if (first != null && first == entry.time()) {
                firsts.removeKey(entry.key());
            }
        }
    }
}
