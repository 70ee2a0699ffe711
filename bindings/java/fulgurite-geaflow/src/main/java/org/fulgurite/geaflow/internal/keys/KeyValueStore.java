package org.fulgurite.geaflow.internal.keys;

import java.util.Collections;
import java.util.List;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.shard.ShardStore;

/**
 * A value for each key.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class KeyValueStore<K, V> extends ShardStore implements IKVStatefulStore<K, V> {
    private IKVSerializer<K, V> serializer;

    /** Creates a store, which must be initialised. */
    public KeyValueStore() {
        super("values");
    }

    @Override
    public synchronized void init(StoreContext context) {
        serializer = serializer(context, IKVSerializer.class);
        super.init(context);
    }

    @Override
    public V get(K key) {
        byte[] value = shard().get(0, serializer.serializeKey(key));
        return value == null ? null : serializer.deserializeValue(value);
    }

    @Override
    public void put(K key, V value) {
        shard().put(0, serializer.serializeKey(key), serializer.serializeValue(value));
    }

    @Override
    public void remove(K key) {
        shard().delete(0, serializer.serializeKey(key));
    }

    @Override
    protected List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value) {
        return Collections.singletonList(new ShardEntry(0, key, value));
    }
}
