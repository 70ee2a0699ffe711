package org.apache.geaflow.state.key;

import java.util.List;
import java.util.Map;

/** A map for each key. */
public interface KeyMapTrait<K, UK, UV> {
    Map<UK, UV> get(K key);

    @SuppressWarnings("unchecked")
    List<UV> get(K key, UK... subKeys);

    void add(K key, UK subKey, UV value);

    void add(K key, Map<UK, UV> map);

    void remove(K key);

    @SuppressWarnings("unchecked")
    void remove(K key, UK... subKeys);
}
