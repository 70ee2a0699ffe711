package org.fulgurite.geaflow.internal.keys;

import java.util.ArrayList;
import java.util.List;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.Cursor;
import org.fulgurite.KeyRange;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.shard.ShardStore;

/**
 * A list for each key. Elements are appended without reading the list.
 *
 * @param <K> the type of keys
 * @param <V> the type of elements
 */
public final class KeyListStore<K, V> extends ShardStore implements IKListStore<K, V> {
    private IKVSerializer<K, V> serializer;

    /** Reads whole lists of RocksDB's store. */
    private IKVSerializer<K, List<V>> wholeLists;

    /** Creates a store, which must be initialised. */
    public KeyListStore() {
        super("lists");
    }

    @Override
    public synchronized void init(StoreContext context) {
        serializer = serializer(context, IKVSerializer.class);
        super.init(context);
    }

    private byte[] prefix(K key) {
        return CompositeKeys.prefix(serializer.serializeKey(key));
    }

    /** Returns the elements in the order in which they were added. A list that does not exist is empty. */
    @Override
    public List<V> get(K key) {
        Shard shard = shard();
        KeyRange range = KeyRange.prefix(prefix(key));
        return shard.scan(0, range, cursor -> {
            List<V> elements = new ArrayList<>();
            while (cursor.next()) {
                elements.add(serializer.deserializeValue(cursor.value()));
            }
            return elements;
        });
    }

    @Override
    @SafeVarargs
    public final void add(K key, V... values) {
        Shard shard = shard();
        byte[] prefix = prefix(key);
        // Between reading the last number and the last put, no other thread may add.
        synchronized (shard) {
            long number = nextNumber(shard, prefix);
            for (V value : values) {
                shard.put(0, CompositeKeys.key(prefix, number++), serializer.serializeValue(value));
            }
        }
    }

    private static long nextNumber(Shard shard, byte[] prefix) {
        return shard.read(transaction -> {
            try (Cursor cursor = transaction.scanReverse(shard.table(0), KeyRange.prefix(prefix))) {
                return cursor.next() ? CompositeKeys.number(prefix, cursor.key()) + 1 : 0;
            }
        });
    }

    @Override
    public void remove(K key) {
        shard().deleteRange(0, KeyRange.prefix(prefix(key)));
    }

    @Override
    public void importFrom(StoreContext from) {
        wholeLists = serializer(from, IKVSerializer.class);
    }

    @Override
    protected List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value) {
        byte[] prefix = prefix(wholeLists.deserializeKey(key));
        List<ShardEntry> entries = new ArrayList<>();
        for (V element : wholeValue(wholeLists, value)) {
            byte[] numbered = CompositeKeys.key(prefix, entries.size());
            entries.add(new ShardEntry(0, numbered, serializer.serializeValue(element)));
        }
        return entries;
    }
}
