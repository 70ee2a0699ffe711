package org.fulgurite.geaflow.internal.keys;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.state.serializer.IKMapSerializer;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.KeyRange;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.shard.ShardStore;

/**
 * A map for each key. Entries are read and written without the other entries of the map.
 *
 * @param <K> the type of keys
 * @param <UK> the type of keys within maps
 * @param <UV> the type of values within maps
 */
public final class KeyMapStore<K, UK, UV> extends ShardStore implements IKMapStore<K, UK, UV> {
    private IKMapSerializer<K, UK, UV> serializer;

    /** Reads whole maps of RocksDB's store. */
    private IKVSerializer<K, Map<UK, UV>> wholeMaps;

    /** Creates a store, which must be initialised. */
    public KeyMapStore() {
        super("maps");
    }

    @Override
    public synchronized void init(StoreContext context) {
        serializer = serializer(context, IKMapSerializer.class);
        super.init(context);
    }

    private byte[] prefix(K key) {
        return CompositeKeys.prefix(serializer.serializeKey(key));
    }

    private byte[] entry(byte[] prefix, UK subKey) {
        return CompositeKeys.key(prefix, serializer.serializeUK(subKey));
    }

    /** Returns all entries. A map that does not exist is empty. */
    @Override
    public Map<UK, UV> get(K key) {
        Shard shard = shard();
        byte[] prefix = prefix(key);
        return shard.scan(0, KeyRange.prefix(prefix), cursor -> {
            Map<UK, UV> map = new HashMap<>();
            while (cursor.next()) {
                UK subKey = serializer.deserializeUK(CompositeKeys.second(prefix, cursor.key()));
                map.put(subKey, serializer.deserializeUV(cursor.value()));
            }
            return map;
        });
    }

    /** Returns the values of entries in the given order, with null for those that do not exist. */
    @Override
    @SafeVarargs
    public final List<UV> get(K key, UK... subKeys) {
        Shard shard = shard();
        byte[] prefix = prefix(key);
        List<UV> values = new ArrayList<>(subKeys.length);
        for (UK subKey : subKeys) {
            byte[] value = shard.get(0, entry(prefix, subKey));
            values.add(value == null ? null : serializer.deserializeUV(value));
        }
        return values;
    }

    @Override
    public void add(K key, UK subKey, UV value) {
        shard().put(0, entry(prefix(key), subKey), serializer.serializeUV(value));
    }

    /** Adds entries. Others of the map stay, as in GeaFlow's other stores. */
    @Override
    public void add(K key, Map<UK, UV> map) {
        Shard shard = shard();
        byte[] prefix = prefix(key);
        map.forEach((subKey, value) -> shard.put(0, entry(prefix, subKey), serializer.serializeUV(value)));
    }

    @Override
    public void remove(K key) {
        shard().deleteRange(0, KeyRange.prefix(prefix(key)));
    }

    @Override
    @SafeVarargs
    public final void remove(K key, UK... subKeys) {
        Shard shard = shard();
        byte[] prefix = prefix(key);
        for (UK subKey : subKeys) {
            shard.delete(0, entry(prefix, subKey));
        }
    }

    @Override
    public void importFrom(StoreContext from) {
        wholeMaps = serializer(from, IKVSerializer.class);
    }

    @Override
    protected List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value) {
        byte[] prefix = prefix(wholeMaps.deserializeKey(key));
        List<ShardEntry> entries = new ArrayList<>();
        wholeValue(wholeMaps, value).forEach((subKey, subValue) ->
                entries.add(new ShardEntry(0, entry(prefix, subKey), serializer.serializeUV(subValue))));
        return entries;
    }
}
