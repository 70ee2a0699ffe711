package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.fulgurite.changes.ChangeFeed;
import org.fulgurite.changes.Commit;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.options.Durability;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Threads use and close shared objects at random: each call works, or throws an exception of Fulgurite, and the virtual
 * machine and the database survive.
 */
class MisuseTest {
    private static final int THREADS = 8;
    private static final int CALLS_OF_A_THREAD = 100_000;
    private static final int SLOTS = 16;

    private final AtomicReferenceArray<Database> databases = new AtomicReferenceArray<>(2);
    private final AtomicReferenceArray<Table> tables = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<Transaction> transactions = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<Cursor> cursors = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<WriteTransaction.Savepoint> savepoints = new AtomicReferenceArray<>(SLOTS);
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong done = new AtomicLong();

    private static byte[] random(Random random) {
        byte[] bytes = new byte[random.nextInt(random.nextInt(50) == 0 ? 5_000 : 12)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static ByteBuffer buffer(Random random) {
        byte[] bytes = random(random);
        ByteBuffer buffer = random.nextBoolean() ? ByteBuffer.allocate(9_000) : ByteBuffer.allocateDirect(9_000);
        buffer.put(bytes).flip();
        return buffer;
    }

    private static KeyRange range(Random random) {
        switch (random.nextInt(4)) {
            case 0:
                return KeyRange.all();
            case 1:
                return KeyRange.prefix(random(random));
            case 2:
                return KeyRange.between(random(random), random(random));
            default:
                return KeyRange.greaterThan(random(random));
        }
    }

    private void call(Random random, Path directory) throws InterruptedException {
        int slot = random.nextInt(SLOTS);
        Database database = databases.get(random.nextInt(2));
        Table table = tables.get(random.nextInt(SLOTS));
        Transaction transaction = transactions.get(slot);
        WriteTransaction write =
                transaction instanceof WriteTransaction ? (WriteTransaction) transaction : null;
        Cursor cursor = cursors.get(slot);
        switch (random.nextInt(38)) {
            case 0:
                if (random.nextInt(200) == 0) {
                    database.close();
                }
                break;
            case 1: {
                int which = random.nextInt(2);
                if (databases.get(which) == null || !databases.get(which).isOpen()) {
                    databases.set(which, open(directory, which));
                }
                break;
            }
            case 2:
            case 3:
                tables.set(slot, database.openOrCreateTable("t" + random.nextInt(3)));
                break;
            case 4:
            case 5:
                transactions.set(slot, database.beginRead());
                break;
            case 6:
            case 7:
                transactions.set(slot, database.beginWrite());
                break;
            case 8:
                database.beginExclusive(Duration.ZERO).ifPresent(Transaction::close);
                break;
            case 9:
                transaction.close();
                break;
            case 10:
                write.commit(Durability.MEMORY);
                break;
            case 11:
                table.close();
                break;
            case 12:
                write.put(table, random(random), random(random));
                break;
            case 13:
                write.delete(table, random(random));
                break;
            case 14:
                write.deleteRange(table, range(random));
                break;
            case 15:
                write.apply(table, new WriteBatch().put(random(random), random(random)).delete(random(random)));
                break;
            case 16:
                savepoints.set(slot, write.savepoint());
                break;
            case 17:
                write.rollbackTo(savepoints.get(random.nextInt(SLOTS)));
                break;
            case 18:
                cursors.set(slot, random.nextBoolean()
                        ? transaction.scan(table, range(random))
                        : transaction.scanReverse(table, range(random)));
                break;
            case 19:
                synchronized (cursor) {
                    if (cursor.next()) {
                        cursor.key();
                        cursor.value();
                    }
                }
                break;
            case 20:
                synchronized (cursor) {
                    cursor.seek(random(random));
                }
                break;
            case 21:
                transaction.getMany(table, Arrays.asList(random(random), random(random)));
                break;
            case 22:
                transaction.count(table, range(random));
                break;
            case 23:
                transaction.get(table, buffer(random), ByteBuffer.allocate(random.nextInt(8)));
                break;
            case 24:
                write.put(table, buffer(random), buffer(random));
                break;
            case 25:
                write.insert(table, random(random), random(random));
                break;
            case 26:
                write.merge(table, random(random), random(random));
                break;
            case 27:
                write.insert(table, buffer(random), buffer(random));
                break;
            case 28:
                write.delete(table, buffer(random));
                break;
            case 29:
                database.get(table, random(random));
                break;
            case 30:
                try (Cursor once = database.scan(table, range(random))) {
                    once.next();
                }
                break;
            case 31:
                if (random.nextInt(20) == 0) {
                    try (ChangeFeed feed = database.changes(transaction.sequence())) {
                        feed.forEachRemaining(Commit::changes);
                    }
                }
                break;
            case 32:
            case 33:
            case 34:
                if (random.nextInt(400) == 0) {
                    maintain(random, database, table, directory);
                }
                break;
            default:
                transaction.get(table, random(random));
        }
    }

    private static void maintain(Random random, Database database, Table table, Path directory) {
        switch (random.nextInt(6)) {
            case 0:
                Entry entry = Entry.of(random(random), random(random));
                database.bulkLoad(table, Collections.singletonList(entry).iterator());
                break;
            case 1:
                database.dropTable(table);
                break;
            case 2:
                database.renameTable(table, "t" + random.nextInt(4));
                break;
            case 3:
                database.compact();
                break;
            case 4:
                assertTrue(database.check().isSound());
                break;
            default:
                Path copy = directory.resolve("copy-" + random.nextLong());
                try {
                    database.backup(copy);
                } finally {
                    copy.toFile().delete();
                }
        }
    }

    private static Database open(Path directory, int which) {
        return Database.options()
                .create(true)
                .durability(Durability.MEMORY)
                .keepLog(1 << 20)
                .waitForLock(Duration.ofMillis(50))
                .checkpointInterval(Duration.ofMinutes(1))
                .open(directory.resolve(which + ".ful"));
    }

    @Test
    void misuseThrowsAndNothingElseHappens(@TempDir Path directory) throws InterruptedException {
        // It would log a warning for each of the transactions that this test leaves open.
        Logger logger = Logger.getLogger("org.fulgurite");
        logger.setLevel(Level.OFF);
        for (int which = 0; which < 2; which++) {
            databases.set(which, open(directory, which));
        }
        ConcurrentLinkedQueue<Throwable> unexpected = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < THREADS; index++) {
            Random random = new Random(index);
            Thread thread = new Thread(() -> {
                for (int turn = 0; turn < CALLS_OF_A_THREAD; turn++) {
                    try {
                        call(random, directory);
                        done.incrementAndGet();
                    } catch (FulguriteException | IllegalStateException | NullPointerException expected) {
                        refused.incrementAndGet();
                    } catch (Throwable other) {
                        unexpected.add(other);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        logger.setLevel(null);
        assertTrue(unexpected.isEmpty(), () -> unexpected.peek().toString());
        assertEquals((long) THREADS * CALLS_OF_A_THREAD, done.get() + refused.get());
        assertTrue(done.get() > 10_000 && refused.get() >= 100_000, done + " done, " + refused + " refused");
        for (int which = 0; which < 2; which++) {
            databases.get(which).close();
            try (Database database = open(directory, which)) {
                assertTrue(database.check().isSound());
            }
        }
    }
}
