package io.confluent.ksql.util;

/** Two arguments of an aggregate function. */
public class Pair<A, B> {
    private final A left;
    private final B right;

    public Pair(A left, B right) {
        this.left = left;
        this.right = right;
    }

    public static <A, B> Pair<A, B> of(A left, B right) {
        return new Pair<>(left, right);
    }

    public A getLeft() {
        return left;
    }

    public B getRight() {
        return right;
    }
}
