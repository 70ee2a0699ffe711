package org.apache.geaflow.state.serializer;

/** GeaFlow's serializer of keys and values, by their classes. */
public class DefaultKVSerializer<K, V> implements IKVSerializer<K, V> {
    private static final long serialVersionUID = 1L;

    public DefaultKVSerializer(Class<K> keys, Class<V> values) {}

    @Override
    public byte[] serializeKey(K key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public K deserializeKey(byte[] bytes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] serializeValue(V value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public V deserializeValue(byte[] bytes) {
        throw new UnsupportedOperationException();
    }
}
