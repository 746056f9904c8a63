package org.ksqlspark.log;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;

/**
 * The grace periods with which late records would not have been late, ms: how many there are by
 * bucket. A bucket is an eighth of a power of two, so a period is known up to an eighth of it.
 */
final class Graces {
    private static final int PARTS = 8;
    private static final int BITS = 3;

    private final Map<Integer, LongAdder> counts = new ConcurrentHashMap<>();

    void add(long grace) {
        add(bucket(grace), 1);
    }

    void add(Map<Integer, Long> more) {
        more.forEach(this::add);
    }

    private void add(int bucket, long count) {
        counts.computeIfAbsent(bucket, b -> new LongAdder()).add(count);
    }

    /** How many there are in each bucket. */
    Map<Integer, Long> counts() {
        Map<Integer, Long> found = new TreeMap<>();
        counts.forEach((bucket, count) -> found.put(bucket, count.sum()));
        return found;
    }

    /** The same; they begin at 0 again. */
    Map<Integer, Long> take() {
        Map<Integer, Long> found = new TreeMap<>();
        counts.forEach((bucket, count) -> found.put(bucket, count.sumThenReset()));
        found.values().removeIf(count -> count == 0);
        return found;
    }

    /** The greatest grace period of each bucket, each followed by how many there are in it. */
    static long[] table(Map<Integer, Long> counts) {
        return new TreeMap<>(counts)
                .entrySet().stream()
                        .filter(one -> one.getValue() > 0)
                        .flatMapToLong(one -> LongStream.of(greatest(one.getKey()), one.getValue()))
                        .toArray();
    }

    static int bucket(long grace) {
        if (grace < PARTS) {
            return (int) Math.max(0, grace);
        }
        int power = 63 - Long.numberOfLeadingZeros(grace);
        return (power - BITS + 1) * PARTS + (int) (grace >> (power - BITS)) % PARTS;
    }

    /** The greatest grace period of a bucket. */
    static long greatest(int bucket) {
        if (bucket < PARTS) {
            return bucket;
        }
        int shift = bucket / PARTS - 1;
        return ((PARTS + bucket % PARTS + 1L) << shift) - 1;
    }
}
