package org.fulgurite.geaflow.internal.shard;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.Cursor;
import org.fulgurite.Database;
import org.fulgurite.DatabaseOptions;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Stats;
import org.fulgurite.Table;
import org.fulgurite.Transaction;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.options.Isolation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local file of a shard, with its tables, which have numbers. Changes are collected in a transaction, which reads
 * see too, and committed many at a time. Threads can share it. While there are changes that are not committed, their
 * calls run one after the other.
 */
public final class Shard {
    private static final Logger LOGGER = LoggerFactory.getLogger(Shard.class);
    private static final String FILE = "state.ful";
    private static final byte[] LAYOUT = {};
    private static final int COMMITS_PER_CHECK = 100;
    private static final double ALERT_THRESHOLD = 0.9;
    private static final long DELTA_BYTES_MAX = 64 << 20;
    private static final int OVERHEAD_BYTES = 64;

    private final StoreSettings settings;
    private final ShardDirectory directory;
    private final Database database;
    private final List<Table> tables;
    private final Table layouts;

    /** Changes that are not committed; null if there are none. */
    private volatile Changes changes;

    /** Why a commit failed; null if none has. Its changes are lost, so reads would be wrong. */
    private volatile RuntimeException failed;

    /** Null if nothing wants them. */
    private ShardMetrics metrics;

    private long changedBytes;
    private long uncommittedMax;
    private int commits;

    /** About the memory of commits that are not in the file. */
    private final AtomicLong committedBytes = new AtomicLong();

    private Shard(StoreSettings settings, ShardDirectory directory, Database database, List<String> tables) {
        this.settings = settings;
        this.directory = directory;
        this.database = database;
        this.tables = tables.stream().map(database::openOrCreateTable).collect(Collectors.toList());
        layouts = database.openOrCreateTable("layout");
        ShardMemory.add(this);
        uncommittedMax = ShardMemory.uncommittedMax(settings.memoryBytes);
    }

    private static DatabaseOptions options(StoreSettings settings) {
        long deltaBytes = Math.min(DELTA_BYTES_MAX, settings.memoryBytes);
        if (settings.quotaBytes > 0) {
            deltaBytes = Math.min(deltaBytes, settings.quotaBytes / 8);
        }
        DatabaseOptions options = Database.options()
                .create(true)
                .background(false)
                .durability(settings.durability)
                .isolation(Isolation.SNAPSHOT)
                .keepLog(settings.logBytes)
                .deltaBytes(deltaBytes);
        return settings.quotaBytes == 0 ? options : options.maxSizeBytes(settings.quotaBytes);
    }

    /**
     * Opens the file in a directory, and creates what is missing. If an open shard of this process has the directory,
     * the new shard uses an empty one beside it.
     */
    static Shard open(StoreSettings settings, Path wanted, List<String> tables) {
        ShardDirectory directory = ShardDirectory.take(wanted);
        return of(settings, directory, tables, file -> options(settings).open(file));
    }

    /** Restores a checkpoint into a directory, in place of what is there. It may be another one, as in {@link #open}. */
    static Shard restore(StoreSettings settings, Path wanted, List<String> tables, Checkpoints checkpoints, long id) {
        ShardDirectory directory = ShardDirectory.take(wanted);
        return of(settings, directory, tables, file -> {
            directory.clear();
            createDirectory(directory.path());
            return checkpoints.restore(id, file, options(settings));
        });
    }

    private static Shard of(
            StoreSettings settings, ShardDirectory directory, List<String> tables, Function<Path, Database> open) {
        Database database = null;
        try {
            database = open.apply(directory.path().resolve(FILE));
            return new Shard(settings, directory, database, tables);
        } catch (RuntimeException | Error failed) {
            if (database != null) {
                database.close();
            }
            directory.release();
            throw failed;
        }
    }

    private static void createDirectory(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException failed) {
            throw new UncheckedIOException("cannot create the directory of a shard: " + directory, failed);
        }
    }

    private void check() {
        if (failed != null) {
            throw new GeaflowRuntimeException(
                    "changes of " + database.path() + " could not be committed and are lost; recover a checkpoint: "
                            + failed.getMessage(),
                    failed);
        }
    }

    /** Returns the value of a key, or null. */
    public byte[] get(int table, byte[] key) {
        if (changes != null) {
            synchronized (this) {
                check();
                if (changes != null) {
                    WriteTransaction transaction = changes.mayHave(table, key) ? applied() : changes.withoutBatches();
                    return transaction.get(tables.get(table), key);
                }
            }
        }
        check();
        return database.get(tables.get(table), key);
    }

    public void put(int table, byte[] key, byte[] value) {
        putAll(Collections.singletonList(new ShardEntry(table, key, value)));
    }

    /** Puts entries that are committed together. */
    public synchronized void putAll(List<ShardEntry> entries) {
        if (entries.isEmpty()) {
            return;
        }
        long bytes = 0;
        for (ShardEntry entry : entries) {
            if (!changes().put(entry.table, entry.key, entry.value)) {
                applied().put(tables.get(entry.table), entry.key, entry.value);
            }
            bytes += (long) entry.key.length + entry.value.length + OVERHEAD_BYTES;
        }
        changed(bytes);
    }

    public synchronized void delete(int table, byte[] key) {
        if (!changes().delete(table, key)) {
            applied().delete(tables.get(table), key);
        }
        changed(key.length + OVERHEAD_BYTES);
    }

    public synchronized void deleteRange(int table, KeyRange range) {
        changes();
        long deleted = applied().deleteRange(tables.get(table), range);
        changed(deleted * OVERHEAD_BYTES);
    }

    /** Reads the entries of a range, which should be few. */
    public <T> T scan(int table, KeyRange range, Function<Cursor, T> read) {
        Table scanned = tables.get(table);
        return read(
                transaction -> {
                    try (Cursor cursor = transaction.scan(scanned, range)) {
                        return read.apply(cursor);
                    }
                },
                () -> {
                    try (Cursor cursor = database.scan(scanned, range)) {
                        return read.apply(cursor);
                    }
                });
    }

    /** Reads with a transaction that has all changes. */
    public <T> T read(Function<Transaction, T> read) {
        return read(read, () -> database.read(read));
    }

    /** Reads with the transaction of the changes; if there are none, reads what is committed. */
    private <T> T read(Function<Transaction, T> changed, Supplier<T> committed) {
        if (changes != null) {
            synchronized (this) {
                check();
                if (changes != null) {
                    return changed.apply(applied());
                }
            }
        }
        check();
        return committed.get();
    }

    /** Commits all changes, and returns a snapshot with them. */
    public ReadTransaction snapshot() {
        if (changes != null) {
            flush();
        }
        check();
        return database.beginAbandonableRead();
    }

    /** Writes how entries are stored into a new file. If a file has it, it must be the same. */
    void checkLayout(String layout) {
        byte[] bytes = layout.getBytes(StandardCharsets.UTF_8);
        byte[] found = database.get(layouts, LAYOUT);
        if (found == null) {
            database.write(transaction -> transaction.put(layouts, LAYOUT, bytes));
        } else if (!Arrays.equals(found, bytes)) {
            throw new GeaflowRuntimeException(database.path() + " was written with other settings: it has "
                    + new String(found, StandardCharsets.UTF_8) + ", and the settings say " + layout
                    + "; use the earlier settings, or another name for the state");
        }
    }

    /** Returns a table by its number. */
    public Table table(int number) {
        return tables.get(number);
    }

    /** The directory of the file, which stays when the shard is closed; null if it is temporary. */
    Path lastingDirectory() {
        return directory.isTemporary() ? null : directory.path();
    }

    private Changes changes() {
        check();
        if (changes == null) {
            changes = new Changes(database.beginWrite(), tables);
        }
        return changes;
    }

    /** Returns the transaction of the changes, of which there are some, with all of them. */
    private WriteTransaction applied() {
        try {
            return changes.applied();
        } catch (RuntimeException refused) {
            failed = refused;
            throw refused;
        }
    }

    private void changed(long bytes) {
        changedBytes += bytes;
        if (changedBytes >= uncommittedMax) {
            flush();
        } else if (changes.isFull()) {
            applied();
        }
    }

    /** Commits all changes. */
    synchronized void flush() {
        check();
        if (changes == null) {
            return;
        }
        try {
            changes.applied().commit();
        } catch (RuntimeException refused) {
            failed = refused;
            throw refused;
        } finally {
            // Only now: a read that sees no changes reads what is committed.
            changes = null;
        }
        committedBytes.addAndGet(changedBytes);
        changedBytes = 0;
        uncommittedMax = ShardMemory.uncommittedMax(settings.memoryBytes);
        if (++commits % COMMITS_PER_CHECK == 0) {
            checkSizes();
        }
        ShardMemory.limit(settings.memoryBytes);
    }

    long committedBytes() {
        return committedBytes.get();
    }

    /** Writes what was committed into the file. Another shard may call this, so a failure is only logged. */
    void writeCommits() {
        try {
            database.checkpoint();
            committedBytes.set(0);
        } catch (ClosedException closedMeanwhile) {
            // Closing it has written them.
        } catch (FulguriteException notWritten) {
            LOGGER.warn("commits of {} stay in memory: {}", database.path(), notWritten.getMessage());
        }
    }

    /** Reports the sizes from now on. */
    synchronized void reportTo(ShardMetrics newMetrics) {
        metrics = newMetrics;
        checkSizes();
    }

    /** Reports the sizes, and compares them with the quota. */
    private void checkSizes() {
        Stats stats = database.stats();
        committedBytes.set(stats.deltaBytes());
        double used = settings.quotaBytes == 0
                ? -1
                : (double) (stats.fileBytes() - stats.freeBytes() + stats.deltaBytes()) / settings.quotaBytes;
        if (metrics != null) {
            metrics.set(stats, entries(Transaction::estimateCount), used);
        }
        String message = "{} uses {} % of its quota of {} bytes (geaflow.store.fulgurite.map.size)";
        if (used >= ALERT_THRESHOLD) {
            LOGGER.error(message, database.path(), Math.round(100 * used), settings.quotaBytes);
        } else if (used >= settings.warningThreshold) {
            LOGGER.warn(message, database.path(), Math.round(100 * used), settings.quotaBytes);
        }
    }

    /** The sum of what a function says of all tables. Changes that are not committed do not count. */
    private long entries(EntryCount count) {
        return database.read(transaction -> tables.stream()
                .mapToLong(table -> count.of(transaction, table, KeyRange.all()))
                .sum());
    }

    private interface EntryCount {
        long of(Transaction transaction, Table table, KeyRange range);
    }

    /** Returns how many entries the tables have. */
    synchronized long countEntries() {
        flush();
        return entries(Transaction::count);
    }

    /** Creates a checkpoint with all changes. */
    synchronized Checkpoints.Report createCheckpoint(Checkpoints checkpoints, long id) {
        flush();
        Checkpoints.Report report = checkpoints.create(database, id);
        checkSizes();
        return report;
    }

    synchronized void compact() {
        flush();
        database.compact();
    }

    /** Whether a commit has failed. */
    synchronized boolean hasFailed() {
        return failed != null;
    }

    /** Commits all changes, and closes the file. The changes of a commit that failed before are lost. */
    synchronized void close() {
        try {
            if (failed == null) {
                flush();
            }
        } finally {
            try {
                closeFile();
            } finally {
                directory.release();
            }
        }
    }

    /** Closes the file, without committing, and deletes it. */
    synchronized void abandon() {
        if (changes != null) {
            changes.close();
            changes = null;
        }
        try {
            closeFile();
        } catch (FulguriteException notWritten) {
            LOGGER.warn("{} was not closed in order; it is deleted", database.path(), notWritten);
        } finally {
            directory.delete();
        }
    }

    private void closeFile() {
        ShardMemory.remove(this);
        try {
            if (metrics != null) {
                metrics.remove();
            }
        } finally {
            database.close();
        }
    }
}
