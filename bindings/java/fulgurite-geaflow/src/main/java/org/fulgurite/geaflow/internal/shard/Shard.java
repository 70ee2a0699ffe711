package org.fulgurite.geaflow.internal.shard;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.Cursor;
import org.fulgurite.Database;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Table;
import org.fulgurite.Transaction;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.CorruptException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.geaflow.internal.errors.EngineErrors;
import org.fulgurite.geaflow.internal.runtime.ShardMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local file of a shard, with its tables, which have numbers. Changes are collected and committed many at a time:
 * see {@link PendingChanges}. Reads see all changes: they apply the buffers themselves. Threads can share a shard.
 * While there are changes that are not committed, their reads run one after the other. The file of a shard that is not
 * used may be closed, and is opened again: see {@link ShardFile}.
 */
public final class Shard {
    private static final Logger LOGGER = LoggerFactory.getLogger(Shard.class);

    /** The name of the file in the directory of the shard. */
    static final String FILE = "state.ful";

    /** Whether {@link BackgroundWrites} will look at this shard. */
    final AtomicBoolean isRequested = new AtomicBoolean();

    /** Changes that the transaction does not have. */
    final ChangeQueue queue;

    /** Guards the file and the changes. Other shards only try to take it. */
    private final ReentrantLock lock = new ReentrantLock();

    private final StoreSettings settings;
    private final ShardDirectory directory;
    private final ShardFile file;
    private final ShardSizes sizes;
    private final PendingChanges changes;

    /** Whether the next read finds a second instance into which nothing was recovered. */
    private volatile boolean hasUnrecoveredReads;

    /** Whether a call has found damage. */
    private volatile boolean isDamaged;

    private Shard(StoreSettings settings, ShardDirectory directory, Database database, List<String> tables) {
        this.settings = settings;
        this.directory = directory;
        file = new ShardFile(this, settings, directory.store(), database, tables, lock);
        sizes = new ShardSizes(settings, file);
        changes = new PendingChanges(this, settings, tables.size(), file, sizes, lock);
        queue = changes.queue;
        OpenFiles.add(this);
        ShardMemory.add(this);
        changes.shareMemory();
    }

    /**
     * Opens the file in a directory, and creates what is missing. If an open shard of this process has the directory,
     * the new shard uses an empty one beside it.
     */
    static Shard open(StoreSettings settings, Path wanted, List<String> tables) {
        ShardDirectory directory = ShardDirectory.take(wanted);
        return of(settings, directory, tables, file -> settings.databaseOptions().open(file));
    }

    /** Restores a checkpoint into a directory, in place of what is there. It may be another one, as in {@link #open}. */
    static Shard restore(StoreSettings settings, Path wanted, List<String> tables, Checkpoints checkpoints, long id) {
        ShardDirectory directory = ShardDirectory.take(wanted);
        return of(settings, directory, tables, file -> {
            directory.empty();
            return checkpoints.restore(id, file, settings.databaseOptions());
        });
    }

    private static Shard of(
            StoreSettings settings, ShardDirectory directory, List<String> tables, Function<Path, Database> open) {
        Database database = null;
        try {
            OpenFiles.makeRoom(settings.openFilesMax);
            database = open.apply(directory.path().resolve(FILE));
            return new Shard(settings, directory, database, tables);
        } catch (StorageFullException full) {
            closeFailed(database, directory);
            throw EngineErrors.refused(full, settings.quotaKey);
        } catch (RuntimeException | Error failed) {
            closeFailed(database, directory);
            throw failed;
        }
    }

    private static void closeFailed(Database database, ShardDirectory directory) {
        if (database != null) {
            database.close();
        }
        directory.release();
    }

    /** Commits all changes and closes the file, if nothing has used it of late. Returns whether it is closed. */
    boolean closeIdleFile() {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            OpenFile open = file.ifOpen();
            if (open == null) {
                return true;
            }
            // If this thread had the lock before, a read of this shard opens the file of another, and goes on after it.
            if (lock.getHoldCount() > 1 || changes.hasFailed() || open.takeUsed()) {
                return false;
            }
            changes.flush();
            if (!file.closeIfUnused(open)) {
                return false;
            }
            sizes.noteWritten();
            return true;
        } catch (RuntimeException notWritten) {
            // A commit that failed is kept for the next call of this shard. What else was not written is in the log.
            LOGGER.warn("{} was not closed in order, although it is not used", file.path, notWritten);
            changes.leaveFailureToNextCall();
            return file.ifOpen() == null;
        } finally {
            lock.unlock();
        }
    }

    /** Throws if this is a second instance: its directory is deleted when it is closed. */
    private void checkWritable() {
        if (directory.isTemporary()) {
            throw new GeaflowRuntimeException("second instance is read-only: another one in this process has the shard "
                    + "of " + file.path + "; write with the first, or close it and initialise this one again");
        }
    }

    /** Notes that nothing was recovered into this second instance: its first read logs a warning. */
    void warnOfReads() {
        hasUnrecoveredReads = true;
    }

    private void noteRead() {
        if (hasUnrecoveredReads) {
            hasUnrecoveredReads = false;
            LOGGER.warn("{} is of a second instance and is empty: recover a checkpoint before reading it", file.path);
        }
    }

    /** Commits all changes, unless a call uses the shard. Another shard calls this, so a failure is only logged. */
    void commitIfFree() {
        if (!lock.tryLock()) {
            return;
        }
        try {
            // If this thread had the lock before, a read of this shard uses the transaction.
            if (lock.getHoldCount() == 1 && !changes.hasFailed()) {
                changes.flush();
            }
        } catch (RuntimeException | Error notCommitted) {
            LOGGER.warn("changes of {} were not committed to bound the memory of all shards", file.path, notCommitted);
            changes.leaveFailureToNextCall();
        } finally {
            lock.unlock();
        }
    }

    /** See {@link PendingChanges#uncommittedBytes}. */
    long uncommittedBytes() {
        return changes.uncommittedBytes();
    }

    /** See {@link PendingChanges#changedSince}. */
    long changedSince() {
        return changes.changedSince();
    }

    /** Returns the value of a key, or null. */
    public byte[] get(int table, byte[] key) {
        noteRead();
        try {
            return newest(table, key);
        } catch (FulguriteException failed) {
            throw ofJob(failed);
        }
    }

    private byte[] newest(int table, byte[] key) {
        if (queue.hasChanges()) {
            lock.lock();
            try {
                changes.check();
                boolean mayHave = queue.mayHave(table, key);
                WriteTransaction current = mayHave ? changes.withAllChanges() : changes.ifBegun();
                if (current != null) {
                    return current.get(table(table), key);
                }
            } finally {
                lock.unlock();
            }
        }
        changes.check();
        OpenFile open = file.entered();
        try {
            return open.database.get(open.tables.get(table), key);
        } finally {
            open.leave();
        }
    }

    /** Returns an error of the engine as the store throws it: with a remedy for a job, if there is one. */
    public RuntimeException ofJob(FulguriteException failed) {
        noteDamage(failed);
        return file.ofJob(failed);
    }

    /** Notes an error of the engine: after damage, no recovery is ignored. */
    void noteDamage(FulguriteException failed) {
        if (EngineErrors.isDamage(failed)) {
            isDamaged = true;
        }
    }

    public void put(int table, byte[] key, byte[] value) {
        checkWritable();
        changes.change(Collections.singletonList(new ShardEntry(table, key, value)));
    }

    /** Puts entries that are committed together. */
    public void putAll(List<ShardEntry> entries) {
        checkWritable();
        if (!entries.isEmpty()) {
            changes.change(entries);
        }
    }

    public void delete(int table, byte[] key) {
        checkWritable();
        changes.change(Collections.singletonList(ShardEntry.deletion(table, key)));
    }

    public void deleteRange(int table, KeyRange range) {
        checkWritable();
        try {
            changes.deleteRange(table, range);
        } catch (FulguriteException failed) {
            throw ofJob(failed);
        }
    }

    /** Reads the entries of a range, which should be few. */
    public <T> T scan(int table, KeyRange range, Function<Cursor, T> read) {
        return read(
                transaction -> {
                    try (Cursor cursor = transaction.scan(table(table), range)) {
                        return read.apply(cursor);
                    }
                },
                open -> {
                    try (Cursor cursor = open.database.scan(open.tables.get(table), range)) {
                        return read.apply(cursor);
                    }
                });
    }

    /** Reads with a transaction that has all changes. */
    public <T> T read(Function<Transaction, T> read) {
        return read(read, open -> open.database.read(read));
    }

    /** Reads with the transaction of the changes; if there are none, reads what is committed. */
    private <T> T read(Function<Transaction, T> changed, Function<OpenFile, T> committed) {
        noteRead();
        try {
            return readNewest(changed, committed);
        } catch (FulguriteException failed) {
            throw ofJob(failed);
        }
    }

    private <T> T readNewest(Function<Transaction, T> changed, Function<OpenFile, T> committed) {
        if (queue.hasChanges()) {
            lock.lock();
            try {
                changes.check();
                WriteTransaction current = changes.withAllChanges();
                if (current != null) {
                    return changed.apply(current);
                }
            } finally {
                lock.unlock();
            }
        }
        changes.check();
        OpenFile open = file.entered();
        try {
            return committed.apply(open);
        } finally {
            open.leave();
        }
    }

    /** Commits all changes, and returns a snapshot with them. While it is open, the file is not closed. */
    public ReadTransaction snapshot() {
        noteRead();
        if (queue.hasChanges()) {
            changes.flush();
        }
        changes.check();
        OpenFile open = file.entered();
        try {
            return open.database.beginAbandonableRead();
        } finally {
            open.leave();
        }
    }

    /** See {@link ShardFile#checkLayout}. */
    void checkLayout(String layout, String classes) {
        file.checkLayout(layout, classes);
    }

    /** Returns a table by its number, for an open snapshot or within a read. */
    public Table table(int number) {
        return file.use().tables.get(number);
    }

    /** The directory of the file, which stays when the shard is closed; null if it is temporary. */
    Path lastingDirectory() {
        return directory.isTemporary() ? null : directory.path();
    }

    boolean hasFullBuffer() {
        return queue.hasFull();
    }

    /** Whether a thread in the background is to commit, as there are many changes. */
    boolean isCommitWanted() {
        return changes.isCommitWanted();
    }

    /** See {@link PendingChanges#applyInBackground}. */
    boolean applyInBackground() {
        return changes.applyInBackground();
    }

    /** Commits all changes that were made before, and compares the sizes with the quota. */
    void flush() {
        changes.flush();
        checkQuota();
    }

    /** Compares the sizes with the quota, if there is one. */
    void checkQuota() {
        if (settings.quotaBytes > 0) {
            lock.lock();
            try {
                sizes.checkQuota();
            } finally {
                lock.unlock();
            }
        }
    }

    long committedBytes() {
        return sizes.committedBytes();
    }

    /** Writes what was committed into the file. Another shard may call this, so a failure is only logged. */
    void writeCommits() {
        sizes.writeCommits();
    }

    /** Reports the sizes from now on. */
    void reportTo(ShardMetrics metrics) {
        lock.lock();
        try {
            sizes.reportTo(metrics);
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many entries the tables have. */
    long countEntries() {
        lock.lock();
        try {
            changes.flush();
            return sizes.countEntries();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Creates a checkpoint with all changes that were made before. The checkpoint is of a snapshot, and is sent without
     * the lock: other threads read and write meanwhile. It may have some of their changes.
     */
    Checkpoints.Report createCheckpoint(Checkpoints checkpoints, long id) {
        checkWritable();
        changes.flush();
        OpenFile open = null;
        try {
            open = file.entered();
            Checkpoints.Report report = checkpoints.create(open.database, id);
            checkSizes();
            return report;
        } catch (StorageFullException full) {
            throw EngineErrors.refused(full, settings.quotaKey);
        } catch (CorruptException damage) {
            // The caller names the shard and the remedy.
            noteDamage(damage);
            throw damage;
        } finally {
            if (open != null) {
                open.leave();
            }
        }
    }

    /** Reports the sizes, and compares them with the quota. */
    void checkSizes() {
        lock.lock();
        try {
            sizes.check();
        } finally {
            lock.unlock();
        }
    }

    void compact() {
        lock.lock();
        try {
            changes.flush();
            file.use().database.compact();
        } catch (StorageFullException full) {
            throw EngineErrors.refused(full, settings.quotaKey);
        } catch (FulguriteException failed) {
            throw ofJob(failed);
        } finally {
            lock.unlock();
        }
    }

    /** Whether a commit has failed, or a call has found damage. */
    boolean hasFailed() {
        return isDamaged || changes.hasFailed();
    }

    /** Whether the file is open, and was not closed because it is not used. */
    boolean hasOpenFile() {
        return file.ifOpen() != null;
    }

    /**
     * Commits all changes, also those that wait for a thread in the background, and closes the file. If changes were
     * lost before, nothing more is committed, and this call throws the failure at its end if no other has. Without a
     * quota, changes in the buffers are lost if no transaction can begin; this call throws then.
     */
    void close() {
        lock.lock();
        boolean isUnknown = changes.hasUnknownFailure();
        try {
            commitAndClose();
        } catch (RuntimeException notClosed) {
            if (!isUnknown) {
                throw notClosed;
            }
            LOGGER.warn("{} was not closed in order", file.path, notClosed);
        } finally {
            lock.unlock();
        }
        if (isUnknown) {
            changes.check();
        }
    }

    private void commitAndClose() {
        try {
            changes.end();
        } finally {
            try {
                closeFile();
            } catch (StorageFullException full) {
                throw EngineErrors.refused(full, settings.quotaKey);
            } finally {
                directory.release();
            }
        }
    }

    /** Closes the file, without committing, and deletes it. */
    void abandon() {
        lock.lock();
        try {
            discardFile();
        } catch (FulguriteException notWritten) {
            LOGGER.debug("{} was not closed in order: it is deleted", file.path, notWritten);
        } finally {
            try {
                directory.delete();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Closes the file without writing what it does not have: it is deleted next. */
    private void discardFile() {
        try {
            changes.abandon();
        } finally {
            endFile(Database::discard);
        }
    }

    private void closeFile() {
        endFile(Database::close);
    }

    private void endFile(Consumer<Database> close) {
        OpenFiles.remove(this);
        ShardMemory.remove(this);
        OpenFile last = file.end();
        try {
            sizes.endReports();
        } finally {
            if (last != null) {
                close.accept(last.database);
            }
        }
    }
}
