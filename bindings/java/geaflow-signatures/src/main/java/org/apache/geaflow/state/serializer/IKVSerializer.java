package org.apache.geaflow.state.serializer;

/** The bytes of keys and values. */
public interface IKVSerializer<K, V> extends IKeySerializer<K> {
    byte[] serializeValue(V value);

    V deserializeValue(byte[] bytes);
}
