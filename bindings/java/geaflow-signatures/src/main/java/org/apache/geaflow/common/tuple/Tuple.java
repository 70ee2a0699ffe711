package org.apache.geaflow.common.tuple;

import java.io.Serializable;

/** A pair. */
public class Tuple<A, B> implements Serializable {
    private static final long serialVersionUID = 1L;

    public A f0;
    public B f1;

    public Tuple(A first, B second) {
        f0 = first;
        f1 = second;
    }

    public static <A, B> Tuple<A, B> of(A first, B second) {
        return new Tuple<>(first, second);
    }

    public A getF0() {
        return f0;
    }

    public B getF1() {
        return f1;
    }
}
