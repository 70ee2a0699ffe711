package fulgurite.jmh;

import java.nio.file.Path;
import org.apache.geaflow.common.config.keys.ExecutionConfigKeys;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteOptions;

/** Values in RocksDB, by rocksdbjni, with the sizes that GeaFlow's RocksDB store has by default, and without a log. */
final class RocksKeyState<K, V> implements IKVStatefulStore<K, V> {
    static {
        RocksDB.loadLibrary();
    }

    private static final long WRITE_BUFFER_BYTES = 128L << 20;
    private static final long CACHE_BYTES = 1L << 30;
    private static final long BLOCK_BYTES = 128L << 10;
    private static final int BITS_PER_KEY = 10;

    private final WriteOptions writes = new WriteOptions().setDisableWAL(true);
    private IKVSerializer<K, V> serializer;
    private RocksDB database;

    @Override
    @SuppressWarnings("unchecked")
    public void init(StoreContext context) {
        serializer = (IKVSerializer<K, V>) context.getKeySerializer();
        Path directory = Path.of(context.getConfig().getString(ExecutionConfigKeys.JOB_WORK_PATH), "rocksdb");
        BlockBasedTableConfig tables = new BlockBasedTableConfig()
                .setBlockSize(BLOCK_BYTES)
                .setBlockCache(new LRUCache(CACHE_BYTES))
                .setFilterPolicy(new BloomFilter(BITS_PER_KEY));
        Options options = new Options()
                .setCreateIfMissing(true)
                .setWriteBufferSize(WRITE_BUFFER_BYTES)
                .setTableFormatConfig(tables);
        try {
            database = RocksDB.open(options, directory.toString());
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public V get(K key) {
        try {
            byte[] value = database.get(serializer.serializeKey(key));
            return value == null ? null : serializer.deserializeValue(value);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void put(K key, V value) {
        try {
            database.put(writes, serializer.serializeKey(key), serializer.serializeValue(value));
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void remove(K key) {
        try {
            database.delete(writes, serializer.serializeKey(key));
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        database.close();
    }

    @Override
    public void archive(long checkpointId) {
        throw new UnsupportedOperationException("the benchmark has no checkpoints of RocksDB");
    }

    @Override
    public void recovery(long checkpointId) {
        archive(checkpointId);
    }

    @Override
    public long recoveryLatest() {
        return -1;
    }

    @Override
    public void compact() {}

    @Override
    public void drop() {
        close();
    }
}
