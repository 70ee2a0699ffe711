package org.apache.geaflow.state.serializer;

/** GeaFlow's serializer of keys and the entries of their maps, by their classes. */
public class DefaultKMapSerializer<K, UK, UV> implements IKMapSerializer<K, UK, UV> {
    private static final long serialVersionUID = 1L;

    public DefaultKMapSerializer(Class<K> keys, Class<UK> entryKeys, Class<UV> values) {}

    @Override
    public byte[] serializeKey(K key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public K deserializeKey(byte[] bytes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] serializeUK(UK key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public UK deserializeUK(byte[] bytes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] serializeUV(UV value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public UV deserializeUV(byte[] bytes) {
        throw new UnsupportedOperationException();
    }
}
