package org.apache.geaflow.state.descriptor;

/** Describes a state of values: its name, and that of its store. */
public final class KeyValueStateDescriptor<K, V> {
    private KeyValueStateDescriptor() {}

    public static <K, V> KeyValueStateDescriptor<K, V> build(String name, String storeType) {
        throw new UnsupportedOperationException();
    }
}
