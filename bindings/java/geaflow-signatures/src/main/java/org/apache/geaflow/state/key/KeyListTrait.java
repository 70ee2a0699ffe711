package org.apache.geaflow.state.key;

import java.util.List;

/** A list for each key. */
public interface KeyListTrait<K, V> {
    List<V> get(K key);

    @SuppressWarnings("unchecked")
    void add(K key, V... values);

    void remove(K key);
}
