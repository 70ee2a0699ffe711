package org.fulgurite.geaflow.internal.keys;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.KeyRange;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.shard.ShardStore;

/**
 * A list for each key. The key of an element has a number, which rises over all lists: an element is added without
 * reading its list.
 *
 * @param <K> the type of keys
 * @param <V> the type of elements
 */
public final class KeyListStore<K, V> extends ShardStore implements IKListStore<K, V> {
    private static final int ELEMENTS = 0;
    private static final int NUMBERS = 1;

    /** The key of the first number that is not reserved. */
    private static final byte[] RESERVED = {};

    private static final long FIRST_NUMBER = 1L << 40;
    private static final long NUMBERS_AT_A_TIME = 1 << 20;

    private final long numbersAtATime;
    private IKVSerializer<K, V> serializer;

    /** Null before the first shard is used. */
    private volatile Numbers numbers;

    /** Reads whole lists of RocksDB's store. */
    private IKVSerializer<K, List<V>> wholeLists;

    /** Creates a store, which must be initialised. */
    public KeyListStore() {
        this(NUMBERS_AT_A_TIME);
    }

    /** Creates a store whose files reserve so many numbers at a time. */
    KeyListStore(long numbersAtATime) {
        super("lists", "numbers");
        this.numbersAtATime = numbersAtATime;
    }

    /** The numbers of elements in a shard. An addition uses the shard and the numbers of the same object. */
    private static final class Numbers {
        final Shard shard;

        /** The number of the next element. The monitor of the shard guards it and the next field. */
        long next;

        long reservedEnd;

        Numbers(Shard shard) {
            this.shard = shard;
            byte[] reserved = shard.get(NUMBERS, RESERVED);
            // Elements of earlier versions and of migrations have numbers from 0 on.
            next = reserved == null ? FIRST_NUMBER : ByteBuffer.wrap(reserved).getLong();
            reservedEnd = next;
        }

        /** Returns a number that is larger than all before. The file reserves many at a time. */
        long take(long atATime) {
            if (next == reservedEnd) {
                byte[] end = ByteBuffer.allocate(Long.BYTES).putLong(next + atATime).array();
                shard.put(NUMBERS, RESERVED, end);
                reservedEnd = next + atATime;
            }
            return next++;
        }
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
        return shard.scan(ELEMENTS, range, cursor -> {
            List<V> elements = new ArrayList<>();
            while (cursor.next()) {
                elements.add(serializer.deserializeValue(cursor.value()));
            }
            return elements;
        });
    }

    /** Takes the numbers of the file for this store. */
    @Override
    protected void useShard(Shard shard) {
        numbers = new Numbers(shard);
    }

    @Override
    @SafeVarargs
    public final void add(K key, V... values) {
        // Throws if the store is closed.
        shard();
        Numbers current = numbers;
        Shard shard = current.shard;
        byte[] prefix = prefix(key);
        // Numbers rise in the order of the puts of all threads.
        synchronized (shard) {
            for (V value : values) {
                byte[] element = serializer.serializeValue(value);
                shard.put(ELEMENTS, CompositeKeys.key(prefix, current.take(numbersAtATime)), element);
            }
        }
    }

    @Override
    public void remove(K key) {
        shard().deleteRange(ELEMENTS, KeyRange.prefix(prefix(key)));
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
            entries.add(new ShardEntry(ELEMENTS, numbered, serializer.serializeValue(element)));
        }
        return entries;
    }
}
