package org.fulgurite.geaflow.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.Database;
import org.fulgurite.DatabaseOptions;
import org.fulgurite.KeyRange;
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
 * The local file of a shard, with one table. Changes are collected in a transaction, which reads see too, and committed
 * many at a time. Threads can share it; their calls run one after the other.
 */
final class Shard {
    private static final Logger LOGGER = LoggerFactory.getLogger(Shard.class);
    private static final String FILE = "state.ful";
    private static final int COMMITS_PER_CHECK = 100;
    private static final double ALERT_THRESHOLD = 0.9;
    private static final long DELTA_BYTES_MAX = 64 << 20;
    private static final int OVERHEAD_BYTES = 64;

    private final StoreSettings settings;
    private final Database database;
    private final Table table;

    /** Changes that are not committed; null if there are none. */
    private WriteTransaction changes;

    /** Why a commit failed; null if none has. Its changes are lost, so reads would be wrong. */
    private RuntimeException failed;

    private long changedBytes;
    private long uncommittedMax;
    private int commits;

    /** About the memory of commits that are not in the file. */
    private volatile long committedBytes;

    private Shard(StoreSettings settings, Database database, String table) {
        this.settings = settings;
        this.database = database;
        this.table = database.openOrCreateTable(table);
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

    /** Opens the file in a directory, and creates what is missing. */
    static Shard open(StoreSettings settings, Path directory, String table) {
        createDirectory(directory);
        return of(settings, options(settings).open(directory.resolve(FILE)), table);
    }

    /** Restores a checkpoint into a directory that has no file. */
    static Shard restore(StoreSettings settings, Path directory, String table, Checkpoints checkpoints, long id) {
        createDirectory(directory);
        return of(settings, checkpoints.restore(id, directory.resolve(FILE), options(settings)), table);
    }

    private static Shard of(StoreSettings settings, Database database, String table) {
        try {
            return new Shard(settings, database, table);
        } catch (RuntimeException failed) {
            database.close();
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

    /** Removes what {@link #open} and {@link #restore} create. */
    static void delete(Path directory) {
        try (Stream<Path> found = Files.walk(directory)) {
            List<Path> deepestFirst = found.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
            for (Path path : deepestFirst) {
                Files.deleteIfExists(path);
            }
        } catch (NoSuchFileException nothingThere) {
            // It was deleted before.
        } catch (IOException failed) {
            throw new UncheckedIOException("cannot delete the directory of a shard: " + directory, failed);
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

    synchronized byte[] get(byte[] key) {
        check();
        return changes == null ? database.get(table, key) : changes.get(table, key);
    }

    synchronized void put(byte[] key, byte[] value) {
        changes().put(table, key, value);
        changed(key.length + value.length);
    }

    synchronized void delete(byte[] key) {
        changes().delete(table, key);
        changed(key.length);
    }

    synchronized void deleteRange(KeyRange range) {
        long deleted = changes().deleteRange(table, range);
        changed(deleted * OVERHEAD_BYTES);
    }

    /** Reads with a transaction that has all changes. */
    synchronized <T> T read(Function<Transaction, T> read) {
        check();
        return changes == null ? database.read(read) : read.apply(changes);
    }

    Table table() {
        return table;
    }

    private WriteTransaction changes() {
        check();
        if (changes == null) {
            changes = database.beginWrite();
        }
        return changes;
    }

    private void changed(long bytes) {
        changedBytes += bytes + OVERHEAD_BYTES;
        if (changedBytes >= uncommittedMax) {
            flush();
        }
    }

    /** Commits all changes. */
    synchronized void flush() {
        check();
        if (changes == null) {
            return;
        }
        WriteTransaction ended = changes;
        changes = null;
        try {
            ended.commit();
        } catch (RuntimeException refused) {
            failed = refused;
            throw refused;
        }
        committedBytes += changedBytes;
        changedBytes = 0;
        uncommittedMax = ShardMemory.uncommittedMax(settings.memoryBytes);
        if (++commits % COMMITS_PER_CHECK == 0) {
            checkSizes();
        }
        ShardMemory.limit(settings.memoryBytes);
    }

    long committedBytes() {
        return committedBytes;
    }

    /** Writes what was committed into the file. Another shard may call this, so a failure is only logged. */
    void writeCommits() {
        committedBytes = 0;
        try {
            database.checkpoint();
        } catch (ClosedException closedMeanwhile) {
            // Closing it has written them.
        } catch (FulguriteException notWritten) {
            LOGGER.warn("commits of {} stay in memory: {}", database.path(), notWritten.getMessage());
        }
    }

    /** Compares the sizes with the quota, and logs them. */
    private void checkSizes() {
        Stats stats = database.stats();
        committedBytes = stats.deltaBytes();
        LOGGER.debug("{}: {}", database.path(), stats);
        if (settings.quotaBytes == 0) {
            return;
        }
        double used = (double) (stats.fileBytes() - stats.freeBytes() + stats.deltaBytes()) / settings.quotaBytes;
        String message = "{} uses {} % of its quota of {} bytes (geaflow.store.fulgurite.map.size)";
        if (used >= ALERT_THRESHOLD) {
            LOGGER.error(message, database.path(), Math.round(100 * used), settings.quotaBytes);
        } else if (used >= settings.warningThreshold) {
            LOGGER.warn(message, database.path(), Math.round(100 * used), settings.quotaBytes);
        }
    }

    /** Creates a checkpoint with all changes. */
    synchronized Checkpoints.Report createCheckpoint(Checkpoints checkpoints, long id) {
        flush();
        return checkpoints.create(database, id);
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
            closeFile();
        }
    }

    /** Closes a file that is deleted next. */
    synchronized void abandon() {
        if (changes != null) {
            changes.close();
            changes = null;
        }
        try {
            closeFile();
        } catch (FulguriteException notWritten) {
            LOGGER.warn("{} was not closed in order; it is deleted", database.path(), notWritten);
        }
    }

    private void closeFile() {
        ShardMemory.remove(this);
        database.close();
    }
}
