package fulgurite.jmh;

import java.nio.file.Path;
import java.util.List;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** RocksDB by rocksdbjni, with its log and without syncing. */
final class RocksEngine implements Engine {
    static {
        RocksDB.loadLibrary();
    }

    private final Options options = new Options().setCreateIfMissing(true);
    private final WriteOptions writes = new WriteOptions();
    private final RocksDB database;

    RocksEngine(Path directory) throws RocksDBException {
        database = RocksDB.open(options, directory.toString());
    }

    @Override
    public void put(List<byte[]> keys, List<byte[]> values) throws RocksDBException {
        try (WriteBatch batch = new WriteBatch()) {
            for (int index = 0; index < keys.size(); index++) {
                batch.put(keys.get(index), values.get(index));
            }
            database.write(writes, batch);
        }
    }

    @Override
    public void put(byte[] key, byte[] value) throws RocksDBException {
        database.put(writes, key, value);
    }

    @Override
    public void settle() throws RocksDBException {
        database.compactRange();
    }

    @Override
    public void beginReads() {}

    @Override
    public byte[] get(byte[] key) throws RocksDBException {
        return database.get(key);
    }

    @Override
    public List<byte[]> getMany(List<byte[]> keys) throws RocksDBException {
        return database.multiGetAsList(keys);
    }

    @Override
    public long scan(byte[] from, int count) {
        long sum = 0;
        try (RocksIterator records = database.newIterator()) {
            records.seek(from);
            for (int left = count; left > 0 && records.isValid(); left--) {
                sum += records.key()[0] + records.value()[0];
                records.next();
            }
        }
        return sum;
    }

    @Override
    public void close() {
        database.close();
        writes.close();
        options.close();
    }
}
