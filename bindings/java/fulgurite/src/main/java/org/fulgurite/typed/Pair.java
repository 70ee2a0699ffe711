package org.fulgurite.typed;

import java.util.Objects;

/**
 * Two objects. Neither is null.
 *
 * @param <A> the class of the first
 * @param <B> the class of the second
 */
public final class Pair<A, B> {
    private final A first;
    private final B second;

    private Pair(A first, B second) {
        this.first = Objects.requireNonNull(first, "first");
        this.second = Objects.requireNonNull(second, "second");
    }

    /**
     * Returns a pair of two objects.
     *
     * @param first the first
     * @param second the second
     * @param <A> the class of the first
     * @param <B> the class of the second
     * @return the pair
     */
    public static <A, B> Pair<A, B> of(A first, B second) {
        return new Pair<>(first, second);
    }

    /**
     * Returns the first object.
     *
     * @return the first
     */
    public A first() {
        return first;
    }

    /**
     * Returns the second object.
     *
     * @return the second
     */
    public B second() {
        return second;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Pair
                && first.equals(((Pair<?, ?>) other).first)
                && second.equals(((Pair<?, ?>) other).second);
    }

    @Override
    public int hashCode() {
        return 31 * first.hashCode() + second.hashCode();
    }

    @Override
    public String toString() {
        return "(" + first + ", " + second + ")";
    }
}
