package org.fulgurite.geaflow.internal.shard;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.Cursor;
import org.fulgurite.Database;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Stats;
import org.fulgurite.Table;
import org.fulgurite.Transaction;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.FulguriteException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local file of a shard, with its tables, which have numbers. Small changes are collected in buffers, then in a
 * transaction, and committed many at a time: see {@link ChangeQueue}. If writes are asynchronous, full buffers are
 * applied and committed by {@link BackgroundWrites}, otherwise by the call that finds no room. Reads see all changes:
 * they apply the buffers themselves. Threads can share a shard. While there are changes that are not committed, their
 * reads run one after the other. The file of a shard that is not used may be closed, and is opened again: see
 * {@link OpenFiles}.
 */
public final class Shard {
    private static final Logger LOGGER = LoggerFactory.getLogger(Shard.class);
    private static final String FILE = "state.ful";
    private static final byte[] LAYOUT = {};
    private static final int COMMITS_PER_CHECK = 100;
    private static final double ALERT_THRESHOLD = 0.9;

    /** A thread in the background waits so long for a shard that a call uses, and then looks at the other shards. */
    private static final long BACKGROUND_WAIT_MS = 10;

    private final StoreSettings settings;
    private final ShardDirectory directory;
    private final Path path;
    private final List<String> tables;

    /** Changes that the transaction does not have. The lock is never taken with its monitor. */
    final ChangeQueue queue;

    /** Whether {@link BackgroundWrites} will look at this shard. */
    final AtomicBoolean isRequested = new AtomicBoolean();

    /** Guards what follows. Other shards only try to take it. */
    private final ReentrantLock lock = new ReentrantLock();

    /** Null if it was closed because it was not used, and after {@link #close}. There is no transaction then. */
    private volatile OpenFile file;

    private boolean isClosed;

    /** Has changes that are not committed, but for those in the buffers; null if it was not begun. */
    private WriteTransaction transaction;

    /** Why changes were not applied or committed; null if all were. They are lost, so reads would be wrong. */
    private volatile Throwable failed;

    /** Whether a call has thrown why changes are lost. If none has, {@link #close} does. */
    private volatile boolean isFailureThrown;

    /** Whether a thread in the background is to commit, as there are many changes. Written with the lock. */
    volatile boolean isCommitWanted;

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
        this.path = database.path();
        this.tables = tables;
        queue = new ChangeQueue(tables.size(), settings.buffersMax, settings.bufferChangesMax);
        file = new OpenFile(database, tables);
        OpenFiles.add(this);
        ShardMemory.add(this);
        uncommittedMax = ShardMemory.uncommittedMax(settings.memoryBytes);
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
        } catch (RuntimeException | Error failed) {
            if (database != null) {
                database.close();
            }
            directory.release();
            throw failed;
        }
    }

    private void check() {
        if (failed != null) {
            isFailureThrown = true;
            throw new GeaflowRuntimeException(
                    "changes of " + path + " could not be committed and are lost; recover a checkpoint: "
                            + failed.getMessage(),
                    failed);
        }
    }

    /** The file, which is opened if it is not. If the caller does not have the lock, it may be closed meanwhile. */
    private OpenFile file() {
        OpenFile open = file;
        if (open == null) {
            open = reopened();
        }
        open.use();
        return open;
    }

    private GeaflowRuntimeException closed() {
        return new GeaflowRuntimeException("the store of " + path + " is closed; call init or recovery");
    }

    private OpenFile reopened() {
        OpenFiles.makeRoom(settings.openFilesMax);
        lock.lock();
        try {
            if (isClosed) {
                throw closed();
            }
            if (file == null) {
                Database database = settings.databaseOptions().open(path);
                try {
                    file = new OpenFile(database, tables);
                } catch (RuntimeException | Error failure) {
                    database.close();
                    throw failure;
                }
                OpenFiles.add(this);
            }
            return file;
        } finally {
            lock.unlock();
        }
    }

    /** The file, which stays open until {@link OpenFile#leave} is called. */
    private OpenFile entered() {
        while (true) {
            OpenFile open = file();
            open.enter();
            // A thread that closes the file sees this call, or this call sees that the file is being closed.
            if (open == file) {
                return open;
            }
            open.leave();
        }
    }

    /** Commits all changes and closes the file, if nothing has used it of late. Returns whether it is closed. */
    boolean closeIdleFile() {
        if (!lock.tryLock()) {
            return false;
        }
        try {
            OpenFile open = file;
            if (open == null) {
                return true;
            }
            // If this thread had the lock before, a read of this shard opens the file of another, and goes on after it.
            if (lock.getHoldCount() > 1 || failed != null || open.takeUsed()) {
                return false;
            }
            flush();
            file = null;
            if (open.isInUse()) {
                file = open;
                return false;
            }
            open.database.close();
            committedBytes.set(0);
            return true;
        } catch (RuntimeException notWritten) {
            // A commit that failed is kept for the next call of this shard. What else was not written is in the log.
            LOGGER.warn("{} was not closed in order, although it is not used", path, notWritten);
            isFailureThrown = false;
            return file == null;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the value of a key, or null. */
    public byte[] get(int table, byte[] key) {
        if (queue.hasChanges()) {
            lock.lock();
            try {
                check();
                WriteTransaction current = queue.mayHave(table, key) ? withAllChanges() : transaction;
                if (current != null) {
                    return current.get(table(table), key);
                }
            } finally {
                lock.unlock();
            }
        }
        check();
        OpenFile open = entered();
        try {
            return open.database.get(open.tables.get(table), key);
        } finally {
            open.leave();
        }
    }

    public void put(int table, byte[] key, byte[] value) {
        change(Collections.singletonList(new ShardEntry(table, key, value)));
    }

    /** Puts entries that are committed together. */
    public void putAll(List<ShardEntry> entries) {
        if (!entries.isEmpty()) {
            change(entries);
        }
    }

    public void delete(int table, byte[] key) {
        change(Collections.singletonList(ShardEntry.deletion(table, key)));
    }

    /** Makes changes that are committed together. */
    private void change(List<ShardEntry> changes) {
        if (!ShardEntry.areSmall(changes)) {
            changeAtOnce(changes);
            return;
        }
        while (true) {
            begin();
            switch (queue.add(changes)) {
                case BUFFERED:
                    return;
                case FILLED:
                    BackgroundWrites.request(this);
                    return;
                case NO_ROOM:
                    makeRoom();
                    break;
                case PAUSED:
                    ensureTransaction();
                    break;
                default:
                    check();
                    throw closed();
            }
        }
    }

    /**
     * Begins a transaction if nothing is changed yet, so that the call that is refused is the one to throw. Without a
     * quota it waits for no call that uses the shard: the change is buffered, and the transaction is begun later.
     */
    private void begin() {
        check();
        boolean isUnchanged = !queue.hasChanges();
        if (isUnchanged && settings.quotaBytes > 0) {
            ensureTransaction();
        } else if (isUnchanged && lock.tryLock()) {
            try {
                ensureTransaction();
            } finally {
                lock.unlock();
            }
        }
        OpenFile open = file;
        if (open != null) {
            open.use();
        }
    }

    private void ensureTransaction() {
        lock.lock();
        try {
            check();
            transaction();
        } finally {
            lock.unlock();
        }
    }

    /** Applies the oldest full buffer, unless another thread has done so meanwhile. */
    private void makeRoom() {
        lock.lock();
        try {
            check();
            if (!queue.hasRoom()) {
                applyFull();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Makes changes in the transaction itself, after those in the buffers. */
    private void changeAtOnce(List<ShardEntry> changes) {
        lock.lock();
        try {
            check();
            applyAll();
            for (ShardEntry change : changes) {
                if (change.isDeletion) {
                    transaction().delete(table(change.table), change.key);
                } else {
                    transaction().put(table(change.table), change.key, change.value);
                }
                changedBytes += change.bytes() + ShardEntry.OVERHEAD_BYTES;
            }
            commitIfLarge();
        } finally {
            lock.unlock();
        }
    }

    public void deleteRange(int table, KeyRange range) {
        lock.lock();
        try {
            check();
            applyAll();
            long deleted = transaction().deleteRange(table(table), range);
            changedBytes += deleted * ShardEntry.OVERHEAD_BYTES;
            commitIfLarge();
        } finally {
            lock.unlock();
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
        if (queue.hasChanges()) {
            lock.lock();
            try {
                check();
                WriteTransaction current = withAllChanges();
                if (current != null) {
                    return changed.apply(current);
                }
            } finally {
                lock.unlock();
            }
        }
        check();
        OpenFile open = entered();
        try {
            return committed.apply(open);
        } finally {
            open.leave();
        }
    }

    /** Commits all changes, and returns a snapshot with them. While it is open, the file is not closed. */
    public ReadTransaction snapshot() {
        if (queue.hasChanges()) {
            flush();
        }
        check();
        OpenFile open = entered();
        try {
            return open.database.beginAbandonableRead();
        } finally {
            open.leave();
        }
    }

    /** Writes how entries are stored into a new file. If a file has it, it must be the same. */
    void checkLayout(String layout) {
        byte[] bytes = layout.getBytes(StandardCharsets.UTF_8);
        OpenFile open = entered();
        try {
            byte[] found = open.database.get(open.layouts, LAYOUT);
            if (found == null) {
                open.database.write(transaction -> transaction.put(open.layouts, LAYOUT, bytes));
            } else if (!Arrays.equals(found, bytes)) {
                throw new GeaflowRuntimeException(path + " was written with other settings: it has "
                        + new String(found, StandardCharsets.UTF_8) + ", and the settings say " + layout
                        + "; use the earlier settings, or another name for the state");
            }
        } finally {
            open.leave();
        }
    }

    /** Returns a table by its number, for an open snapshot or within a read. */
    public Table table(int number) {
        return file().tables.get(number);
    }

    /** The directory of the file, which stays when the shard is closed; null if it is temporary. */
    Path lastingDirectory() {
        return directory.isTemporary() ? null : directory.path();
    }

    /** The transaction of the changes, which is begun if there is none. Requires the lock. */
    private WriteTransaction transaction() {
        if (transaction == null) {
            transaction = file().database.beginWrite();
            queue.begun();
        }
        return transaction;
    }

    /** Returns the transaction, with all changes; null if all are committed. Requires the lock. */
    private WriteTransaction withAllChanges() {
        applyAll();
        commitIfLarge();
        return transaction;
    }

    /**
     * Gives all changes in the buffers to the transaction. Without a quota it commits in between if there are many, as
     * the engine has bounded memory for a transaction; with one, the next may be refused. Requires the lock.
     */
    private void applyAll() {
        for (int full = settings.quotaBytes > 0 ? 0 : queue.fullCount(); full > 0 && queue.hasFull(); full--) {
            transaction();
            apply(queue.takeFull());
            commitIfLarge();
        }
        if (queue.hasBuffered()) {
            // First: if it is refused, the changes stay in the buffers.
            transaction();
            for (Changes buffered : queue.takeAll()) {
                apply(buffered);
            }
        }
    }

    /** Applies the oldest full buffer, if there is one, and commits if there are many changes. Requires the lock. */
    private void applyFull() {
        if (queue.hasFull()) {
            transaction();
            apply(queue.takeFull());
        }
        if (isLarge()) {
            commit();
        }
    }

    private void apply(Changes buffered) {
        try {
            buffered.applyTo(transaction, file().tables);
        } catch (RuntimeException | Error refused) {
            fail(refused);
            throw refused;
        }
        changedBytes += buffered.memoryBytes();
        queue.recycle(buffered);
    }

    /** From now on each call throws: changes are lost. Requires the lock. */
    private void fail(Throwable refused) {
        failed = refused;
        // By the call that runs, unless that only logs it.
        isFailureThrown = true;
        // First: a call that has checked before may still add changes, which threads in the background would find.
        queue.seal();
        queue.discard();
    }

    /**
     * Commits if there are many changes, or lets a thread in the background do so, unless there are very many. Requires
     * the lock.
     */
    private void commitIfLarge() {
        if (!isLarge()) {
            return;
        }
        if (settings.isAsynchronous && changedBytes < 2 * uncommittedMax) {
            isCommitWanted = true;
            BackgroundWrites.request(this);
        } else {
            commit();
        }
    }

    /** Whether there are many changes, and no read of this thread uses the transaction. Requires the lock. */
    private boolean isLarge() {
        return transaction != null && changedBytes >= uncommittedMax && lock.getHoldCount() == 1;
    }

    boolean hasFullBuffer() {
        return queue.hasFull();
    }

    /**
     * Applies the oldest full buffer, and commits if there are many changes, for {@link BackgroundWrites}. If a call
     * uses the shard for long, it does nothing. Returns false if it has failed. If changes are lost, the next call of
     * the shard throws the failure, also {@link #close}; otherwise the next that finds no room or needs the changes.
     */
    boolean applyInBackground() {
        boolean isLocked = false;
        try {
            isLocked = lock.tryLock(BACKGROUND_WAIT_MS, TimeUnit.MILLISECONDS);
            if (isLocked && failed == null) {
                applyFull();
                // There may be no transaction any more: the shard may have been closed or deleted.
                isCommitWanted = false;
            }
            return failed == null;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        } catch (RuntimeException | Error refused) {
            LOGGER.warn("writing changes of {} in the background failed", path, refused);
            isFailureThrown = false;
            return false;
        } finally {
            if (isLocked) {
                lock.unlock();
            }
        }
    }

    /** Commits all changes that were made before. */
    void flush() {
        lock.lock();
        try {
            check();
            applyAll();
            if (transaction != null) {
                commit();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Commits the transaction, which there is. Requires the lock. */
    private void commit() {
        if (settings.quotaBytes > 0) {
            // The quota may refuse the next transaction: changes that are accepted meanwhile could not be applied.
            queue.takeAllAndPause().forEach(this::apply);
        }
        isCommitWanted = false;
        WriteTransaction ending = transaction;
        transaction = null;
        try {
            ending.commit();
        } catch (RuntimeException | Error refused) {
            fail(refused);
            throw refused;
        }
        // Only now: a read that sees no changes reads what is committed.
        queue.committed();
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
        OpenFile open = file;
        if (open == null) {
            return;
        }
        try {
            open.database.checkpoint();
            committedBytes.set(0);
        } catch (ClosedException closedMeanwhile) {
            // Closing it has written them.
        } catch (FulguriteException notWritten) {
            LOGGER.warn("commits of {} stay in memory: {}", path, notWritten.getMessage());
        }
    }

    /** Reports the sizes from now on. */
    void reportTo(ShardMetrics newMetrics) {
        lock.lock();
        try {
            metrics = newMetrics;
            checkSizes();
        } finally {
            lock.unlock();
        }
    }

    /** Reports the sizes, and compares them with the quota. Requires the lock. */
    private void checkSizes() {
        Stats stats = file().database.stats();
        committedBytes.set(stats.deltaBytes());
        double used = settings.quotaBytes == 0
                ? -1
                : (double) (stats.fileBytes() - stats.freeBytes() + stats.deltaBytes()) / settings.quotaBytes;
        if (metrics != null) {
            metrics.set(stats, entries(Transaction::estimateCount), used);
        }
        String message = "{} uses {} % of its quota of {} bytes (geaflow.store.fulgurite.map.size)";
        if (used >= ALERT_THRESHOLD) {
            LOGGER.error(message, path, Math.round(100 * used), settings.quotaBytes);
        } else if (used >= settings.warningThreshold) {
            LOGGER.warn(message, path, Math.round(100 * used), settings.quotaBytes);
        }
    }

    /** The sum of what a function says of all tables, without changes that are not committed. Requires the lock. */
    private long entries(EntryCount count) {
        OpenFile open = file();
        return open.database.read(transaction -> open.tables.stream()
                .mapToLong(table -> count.of(transaction, table, KeyRange.all()))
                .sum());
    }

    private interface EntryCount {
        long of(Transaction transaction, Table table, KeyRange range);
    }

    /** Returns how many entries the tables have. */
    long countEntries() {
        lock.lock();
        try {
            flush();
            return entries(Transaction::count);
        } finally {
            lock.unlock();
        }
    }

    /** Creates a checkpoint with all changes. */
    Checkpoints.Report createCheckpoint(Checkpoints checkpoints, long id) {
        lock.lock();
        try {
            flush();
            Checkpoints.Report report = checkpoints.create(file().database, id);
            checkSizes();
            return report;
        } finally {
            lock.unlock();
        }
    }

    void compact() {
        lock.lock();
        try {
            flush();
            file().database.compact();
        } finally {
            lock.unlock();
        }
    }

    /** Whether a commit has failed. */
    boolean hasFailed() {
        return failed != null;
    }

    /** Whether the file is open, and was not closed because it is not used. */
    boolean hasOpenFile() {
        return file != null;
    }

    /**
     * Commits all changes, also those that wait for a thread in the background, and closes the file. If changes were
     * lost before, nothing more is committed, and this call throws the failure at its end if no other has. Without a
     * quota, changes in the buffers are lost if no transaction can begin; this call throws then.
     */
    void close() {
        lock.lock();
        boolean isUnknown = failed != null && !isFailureThrown;
        try {
            commitAndClose();
        } catch (RuntimeException notClosed) {
            if (!isUnknown) {
                throw notClosed;
            }
            LOGGER.warn("{} was not closed in order", path, notClosed);
        } finally {
            lock.unlock();
        }
        if (isUnknown) {
            check();
        }
    }

    private void commitAndClose() {
        try {
            // A change that is added after the last commit would be lost without an error.
            queue.seal();
            if (failed == null) {
                flush();
            }
        } finally {
            // They are applied, or the caller gets an exception.
            queue.discard();
            try {
                closeFile();
            } finally {
                directory.release();
            }
        }
    }

    /** Closes the file, without committing, and deletes it. */
    void abandon() {
        lock.lock();
        try {
            queue.seal();
            queue.discard();
            if (transaction != null) {
                transaction.close();
                transaction = null;
            }
            closeFile();
        } catch (FulguriteException notWritten) {
            LOGGER.warn("{} was not closed in order; it is deleted", path, notWritten);
        } finally {
            try {
                directory.delete();
            } finally {
                lock.unlock();
            }
        }
    }

    private void closeFile() {
        isClosed = true;
        OpenFiles.remove(this);
        ShardMemory.remove(this);
        OpenFile open = file;
        file = null;
        try {
            if (metrics != null) {
                metrics.remove();
            }
        } finally {
            if (open != null) {
                open.database.close();
            }
        }
    }
}
