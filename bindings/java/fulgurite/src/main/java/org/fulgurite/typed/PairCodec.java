package org.fulgurite.typed;

import java.util.Objects;
import org.fulgurite.KeyRange;

/**
 * A codec of pairs. They are ordered by the first element, then by the second.
 *
 * @param <A> the class of the first element
 * @param <B> the class of the second element
 */
public final class PairCodec<A, B> extends Codec<Pair<A, B>> {
    private final Codec<A> first;
    private final Codec<B> second;

    PairCodec(Codec<A> first, Codec<B> second) {
        super("(" + first.typeName() + "," + second.typeName() + ")");
        this.first = first;
        this.second = second;
    }

    @Override
    void write(Output out, Pair<A, B> value, boolean isLast) {
        first.write(out, value.first(), false);
        second.write(out, value.second(), isLast);
    }

    @Override
    Pair<A, B> read(Input in, boolean isLast) {
        A a = first.read(in, false);
        return Pair.of(a, second.read(in, isLast));
    }

    /**
     * Returns the range of all keys with this first element.
     *
     * @param value the first element
     * @return the range
     */
    public KeyRange startingWith(A value) {
        Output out = new Output(true);
        first.write(out, Objects.requireNonNull(value, "value"), false);
        return KeyRange.prefix(out.bytes());
    }
}
