package org.apache.geaflow.state.key;

/** A value for each key. */
public interface KeyValueTrait<K, V> {
    V get(K key);

    void put(K key, V value);

    void remove(K key);
}
