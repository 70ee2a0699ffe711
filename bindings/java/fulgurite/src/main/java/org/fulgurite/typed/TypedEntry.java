package org.fulgurite.typed;

/**
 * A key and its value.
 *
 * @param <K> the class of the key
 * @param <V> the class of the value
 */
public final class TypedEntry<K, V> {
    private final K key;
    private final V value;

    TypedEntry(K key, V value) {
        this.key = key;
        this.value = value;
    }

    /**
     * Returns the key.
     *
     * @return the key
     */
    public K key() {
        return key;
    }

    /**
     * Returns the value.
     *
     * @return the value
     */
    public V value() {
        return value;
    }

    @Override
    public String toString() {
        return key + "=" + value;
    }
}
