package fulgurite.jmh;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.lmdbjava.CursorIterable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.KeyRange;
import org.lmdbjava.Txn;

/** LMDB by lmdbjava, without syncing. */
final class LmdbEngine implements Engine {
    private static final long MAP_BYTES = 16L << 30;

    private final Env<ByteBuffer> env;
    private final Dbi<ByteBuffer> dbi;
    private final ByteBuffer key = ByteBuffer.allocateDirect(511);
    private final ByteBuffer value = ByteBuffer.allocateDirect(1 << 12);
    private Txn<ByteBuffer> reads;

    LmdbEngine(Path directory) {
        env = Env.create().setMapSize(MAP_BYTES).setMaxDbs(1).open(directory.toFile(), EnvFlags.MDB_NOSYNC);
        dbi = env.openDbi("records", DbiFlags.MDB_CREATE);
    }

    private static ByteBuffer fill(ByteBuffer buffer, byte[] bytes) {
        buffer.clear();
        return buffer.put(bytes).flip();
    }

    @Override
    public void put(List<byte[]> keys, List<byte[]> values) {
        try (Txn<ByteBuffer> transaction = env.txnWrite()) {
            for (int index = 0; index < keys.size(); index++) {
                dbi.put(transaction, fill(key, keys.get(index)), fill(value, values.get(index)));
            }
            transaction.commit();
        }
    }

    @Override
    public void put(byte[] newKey, byte[] newValue) {
        try (Txn<ByteBuffer> transaction = env.txnWrite()) {
            dbi.put(transaction, fill(key, newKey), fill(value, newValue));
            transaction.commit();
        }
    }

    @Override
    public void settle() {}

    @Override
    public void beginReads() {
        reads = env.txnRead();
    }

    @Override
    public byte[] get(byte[] wanted) {
        ByteBuffer found = dbi.get(reads, fill(key, wanted));
        if (found == null) {
            return null;
        }
        byte[] copy = new byte[found.remaining()];
        found.get(copy);
        return copy;
    }

    @Override
    public List<byte[]> getMany(List<byte[]> keys) {
        List<byte[]> found = new ArrayList<>(keys.size());
        for (byte[] wanted : keys) {
            found.add(get(wanted));
        }
        return found;
    }

    @Override
    public long scan(byte[] from, int count) {
        long sum = 0;
        try (CursorIterable<ByteBuffer> records = dbi.iterate(reads, KeyRange.atLeast(fill(key, from)))) {
            int left = count;
            for (CursorIterable.KeyVal<ByteBuffer> record : records) {
                sum += record.key().get(0) + record.val().get(0);
                if (--left == 0) {
                    break;
                }
            }
        }
        return sum;
    }

    @Override
    public void close() {
        if (reads != null) {
            reads.close();
        }
        env.close();
    }
}
