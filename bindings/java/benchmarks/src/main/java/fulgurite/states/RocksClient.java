package fulgurite.states;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.TtlDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * RocksDB with the options and calls of GeaFlow's RocksDB store: a database with times after its values, whose single
 * puts are in the log, and whose batches are not.
 */
final class RocksClient implements AutoCloseable {
    static {
        RocksDB.loadLibrary();
    }

    private static final long WRITE_BUFFER_BYTES = 128L << 20;
    private static final long TABLE_BYTES = 1L << 30;
    private static final long CACHE_BYTES = 1L << 30;
    private static final long BLOCK_BYTES = 128L << 10;
    private static final long MANIFEST_BYTES = 50L << 10;
    private static final int BITS_PER_KEY = 10;
    private static final int TEN_YEARS_IN_SECONDS = 10 * 365 * 24 * 3600;

    private final WriteOptions batchWrites = new WriteOptions().setDisableWAL(true);
    private final List<ColumnFamilyHandle> families = new ArrayList<>();
    private final TtlDB database;

    RocksClient(Path directory, String... names) {
        List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
        for (String name : names) {
            descriptors.add(new ColumnFamilyDescriptor(name.getBytes(StandardCharsets.UTF_8), familyOptions()));
        }
        DBOptions options = new DBOptions()
                .setCreateIfMissing(true)
                .setCreateMissingColumnFamilies(true)
                .setMaxBackgroundJobs(8)
                .setMaxManifestFileSize(MANIFEST_BYTES);
        try {
            Files.createDirectories(directory);
            List<Integer> times = Collections.nCopies(names.length, TEN_YEARS_IN_SECONDS);
            database = TtlDB.open(options, directory.toString(), descriptors, families, times, false);
        } catch (RocksDBException | java.io.IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    private static ColumnFamilyOptions familyOptions() {
        BlockBasedTableConfig tables = new BlockBasedTableConfig()
                .setBlockSize(BLOCK_BYTES)
                .setBlockCacheSize(CACHE_BYTES)
                .setFilterPolicy(new BloomFilter(BITS_PER_KEY, false))
                .setCacheIndexAndFilterBlocks(true)
                .setPinL0FilterAndIndexBlocksInCache(true);
        return new ColumnFamilyOptions()
                .setWriteBufferSize(WRITE_BUFFER_BYTES)
                .setTargetFileSizeBase(TABLE_BYTES)
                .setLevelZeroFileNumCompactionTrigger(20)
                .setLevelZeroSlowdownWritesTrigger(30)
                .setLevelZeroStopWritesTrigger(40)
                .setMaxWriteBufferNumber(2)
                .setTableFormatConfig(tables);
    }

    byte[] get(int family, byte[] key) {
        try {
            return database.get(families.get(family), key);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    void put(int family, byte[] key, byte[] value) {
        try {
            database.put(families.get(family), key, value);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    void delete(int family, byte[] key) {
        try {
            database.delete(families.get(family), key);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    /** Changes that are written together. */
    void write(BatchFill fill) {
        try (WriteBatch batch = new WriteBatch()) {
            fill.into(batch, families);
            database.write(batchWrites, batch);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    interface BatchFill {
        void into(WriteBatch batch, List<ColumnFamilyHandle> families) throws RocksDBException;
    }

    /** The entries whose keys begin with a prefix; all entries for an empty one. */
    Entries entries(int family, byte[] prefix) {
        return new Entries(database.newIterator(families.get(family)), prefix);
    }

    /** Entries in the order of their keys. */
    static final class Entries implements AutoCloseable {
        private final RocksIterator iterator;
        private final byte[] prefix;
        byte[] key;
        byte[] value;

        private Entries(RocksIterator iterator, byte[] prefix) {
            this.iterator = iterator;
            this.prefix = prefix;
            iterator.seek(prefix);
        }

        /** Goes to the next entry; false at the end. */
        boolean next() {
            if (!iterator.isValid()) {
                return false;
            }
            key = iterator.key();
            value = iterator.value();
            if (key.length < prefix.length
                    || !Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length)) {
                return false;
            }
            iterator.next();
            return true;
        }

        @Override
        public void close() {
            iterator.close();
        }
    }

    void flush() {
        try (FlushOptions options = new FlushOptions().setWaitForFlush(true)) {
            database.flush(options, families);
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    void checkpoint(Path directory) {
        try (Checkpoint checkpoint = Checkpoint.create(database)) {
            checkpoint.createCheckpoint(directory.toString());
        } catch (RocksDBException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void close() {
        families.forEach(ColumnFamilyHandle::close);
        database.close();
    }
}
