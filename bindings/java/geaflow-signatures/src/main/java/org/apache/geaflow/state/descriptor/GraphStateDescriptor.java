package org.apache.geaflow.state.descriptor;

/** Describes the state of a graph: its name, and that of its store. */
public final class GraphStateDescriptor<K, VV, EV> {
    private GraphStateDescriptor() {}

    public static <K, VV, EV> GraphStateDescriptor<K, VV, EV> build(String name, String storeType) {
        throw new UnsupportedOperationException();
    }
}
