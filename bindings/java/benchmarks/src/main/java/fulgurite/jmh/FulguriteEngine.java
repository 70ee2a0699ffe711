package fulgurite.jmh;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import org.fulgurite.Cursor;
import org.fulgurite.Database;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Table;
import org.fulgurite.WriteBatch;
import org.fulgurite.options.Durability;

/** Fulgurite with the durability {@code LOG}. */
final class FulguriteEngine implements Engine {
    static final String FILE = "data.ful";

    private final Database database;
    private final Table table;
    private ReadTransaction reads;

    FulguriteEngine(Path directory) {
        database = Database.options().create(true).durability(Durability.LOG).open(directory.resolve(FILE));
        table = database.createTable("records");
    }

    @Override
    public void put(List<byte[]> keys, List<byte[]> values) {
        database.write(transaction -> {
            WriteBatch batch = new WriteBatch();
            for (int index = 0; index < keys.size(); index++) {
                batch.put(keys.get(index), values.get(index));
            }
            transaction.apply(table, batch);
        });
    }

    @Override
    public void put(byte[] key, byte[] value) {
        database.write(transaction -> transaction.put(table, key, value));
    }

    @Override
    public void settle() {
        database.checkpoint();
    }

    @Override
    public void beginReads() {
        reads = database.beginRead();
    }

    @Override
    public byte[] get(byte[] key) {
        return reads.get(table, key);
    }

    @Override
    public List<byte[]> getMany(List<byte[]> keys) {
        return reads.getMany(table, keys);
    }

    @Override
    public long scan(byte[] from, int count) {
        long sum = 0;
        try (Cursor cursor = reads.scan(table, KeyRange.atLeast(from))) {
            for (int left = count; left > 0 && cursor.next(); left--) {
                ByteBuffer key = cursor.keyBuffer();
                ByteBuffer value = cursor.valueBuffer();
                sum += key.get(key.position()) + value.get(value.position());
            }
        }
        return sum;
    }

    @Override
    public void close() {
        if (reads != null) {
            reads.close();
        }
        database.close();
    }
}
