package org.fulgurite.geaflow.internal.shard;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.KeyRange;
import org.fulgurite.Table;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.geaflow.internal.errors.EngineErrors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The changes of a shard that are not committed. Small ones are collected in buffers, then in a transaction, and
 * committed many at a time: see {@link ChangeQueue}. Full buffers are applied by {@link BackgroundWrites}, or by the
 * call that finds no room. The shard's lock guards the transaction and all counts.
 */
final class PendingChanges {
    private static final Logger LOGGER = LoggerFactory.getLogger(PendingChanges.class);

    /** A thread in the background waits so long for a shard that a call uses, and then looks at the other shards. */
    private static final long BACKGROUND_WAIT_MS = 10;

    /** Changes that the transaction does not have. The lock is never taken with its monitor. */
    final ChangeQueue queue;

    private final Shard shard;
    private final StoreSettings settings;
    private final ShardFile file;
    private final ShardSizes sizes;

    /** The shard's lock. */
    private final ReentrantLock lock;

    /** Has changes that are not committed, but for those in the buffers; null if it was not begun. */
    private WriteTransaction transaction;

    /** Why changes were not applied or committed; null if all were. They are lost, so reads would be wrong. */
    private volatile Throwable failed;

    /** Whether a call has thrown why changes are lost. If none has, {@link Shard#close} does. */
    private volatile boolean isFailureThrown;

    /** Whether a thread in the background is to commit, as there are many changes. Written with the lock. */
    private volatile boolean isCommitWanted;

    /** The bytes of changes in the transaction. Written with the lock. {@link ShardMemory} has the sum of all. */
    private volatile long changedBytes;

    private long uncommittedMax;

    /** When the first change of the transaction was made, by {@link System#nanoTime}; written with the lock. */
    private volatile long changedSince;

    /**
     * No changes. The shard calls {@link #shareMemory} when it counts as open.
     *
     * @param shard the shard, for the threads in the background
     * @param tables how many tables it has
     */
    PendingChanges(
            Shard shard, StoreSettings settings, int tables, ShardFile file, ShardSizes sizes, ReentrantLock lock) {
        this.shard = shard;
        this.settings = settings;
        this.file = file;
        this.sizes = sizes;
        this.lock = lock;
        queue = new ChangeQueue(tables, settings.buffersMax, settings.bufferChangesMax);
    }

    /** Takes the shard's part of the memory for changes that are not committed. */
    void shareMemory() {
        uncommittedMax = ShardMemory.uncommittedMax(settings.memoryBytes);
        if (settings.quotaBytes > 0) {
            // A larger commit could fill the rest of a small quota before a warning is logged.
            uncommittedMax = Math.min(uncommittedMax, settings.quotaStep());
        }
    }

    /** Throws if changes are lost. */
    void check() {
        if (failed != null) {
            isFailureThrown = true;
            throw EngineErrors.lost(file.path, failed, settings.quotaKey);
        }
    }

    /** Whether changes are lost. */
    boolean hasFailed() {
        return failed != null;
    }

    /** Whether changes are lost and no call has thrown why. */
    boolean hasUnknownFailure() {
        return failed != null && !isFailureThrown;
    }

    /** Leaves it to the next call to throw why changes are lost: the call that has found it only logs it. */
    void leaveFailureToNextCall() {
        isFailureThrown = false;
    }

    /** The bytes of changes in the transaction. Needs no lock. */
    long uncommittedBytes() {
        return changedBytes;
    }

    /**
     * When the first change of the transaction was made, by {@link System#nanoTime}. If it has none, it is that of an
     * earlier transaction. Needs no lock.
     */
    long changedSince() {
        return changedSince;
    }

    /** Adds to the bytes of changes in the transaction, or takes from them. */
    private void note(long bytes) {
        if (changedBytes == 0) {
            changedSince = System.nanoTime();
        }
        changedBytes += bytes;
        ShardMemory.noteUncommitted(bytes);
    }

    boolean isCommitWanted() {
        return isCommitWanted;
    }

    /** Makes changes that are committed together. Needs no lock. */
    void change(List<ShardEntry> changes) {
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
                    BackgroundWrites.request(shard);
                    return;
                case NO_ROOM:
                    makeRoom();
                    break;
                case PAUSED:
                    ensureTransaction();
                    break;
                default:
                    check();
                    throw file.closed();
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
        OpenFile open = file.ifOpen();
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
            if (changes.size() == 1) {
                applyOne(changes.get(0));
            } else {
                applyAllOrNone(changes);
            }
            commitIfLarge();
        } catch (StorageFullException full) {
            throw EngineErrors.refused(full, settings.quotaKey);
        } finally {
            lock.unlock();
        }
    }

    private void applyOne(ShardEntry change) {
        WriteTransaction current = transaction();
        Table table = file.use().tables.get(change.table);
        if (change.isDeletion) {
            current.delete(table, change.key);
        } else {
            current.put(table, change.key, change.value);
        }
        note(change.bytes() + ShardEntry.OVERHEAD_BYTES);
    }

    /** Makes changes of one call. If one is refused, the transaction has none of them. */
    private void applyAllOrNone(List<ShardEntry> changes) {
        WriteTransaction current = transaction();
        WriteTransaction.Savepoint before = current.savepoint();
        long bytesBefore = changedBytes;
        try {
            changes.forEach(this::applyOne);
        } catch (RuntimeException | Error refused) {
            undo(current, before, refused);
            note(bytesBefore - changedBytes);
            throw refused;
        }
    }

    private void undo(WriteTransaction current, WriteTransaction.Savepoint before, Throwable refused) {
        try {
            current.rollbackTo(before);
        } catch (RuntimeException | Error notUndone) {
            notUndone.addSuppressed(refused);
            throw lost(notUndone);
        }
    }

    /** Deletes the entries of a range, after the changes in the buffers. Needs no lock. */
    void deleteRange(int table, KeyRange range) {
        lock.lock();
        try {
            check();
            applyAll();
            long deleted = transaction().deleteRange(file.use().tables.get(table), range);
            note(deleted * ShardEntry.OVERHEAD_BYTES);
            commitIfLarge();
        } catch (StorageFullException full) {
            throw EngineErrors.refused(full, settings.quotaKey);
        } finally {
            lock.unlock();
        }
    }

    /** The transaction of the changes, which is begun if there is none. Requires the lock. */
    private WriteTransaction transaction() {
        if (transaction == null) {
            try {
                transaction = file.use().database.beginWrite();
            } catch (StorageFullException full) {
                throw EngineErrors.refused(full, settings.quotaKey);
            }
            queue.begun();
        }
        return transaction;
    }

    /** Returns the transaction, which may lack changes in the buffers; null if it was not begun. Requires the lock. */
    WriteTransaction ifBegun() {
        return transaction;
    }

    /** Returns the transaction, with all changes; null if all are committed. Requires the lock. */
    WriteTransaction withAllChanges() {
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
        } else {
            ShardMemory.limitUncommitted(settings.memoryBytes);
        }
    }

    private void apply(Changes buffered) {
        try {
            buffered.applyTo(transaction, file.use().tables);
        } catch (RuntimeException | Error refused) {
            throw lost(refused);
        }
        note(buffered.memoryBytes());
        queue.recycle(buffered);
    }

    /** Returns the exception to throw now, and from now on by each call: changes are lost. Requires the lock. */
    private GeaflowRuntimeException lost(Throwable refused) {
        failed = refused;
        note(-changedBytes);
        // By the call that runs, unless that only logs it.
        isFailureThrown = true;
        // First: a call that has checked before may still add changes, which threads in the background would find.
        queue.seal();
        queue.discard();
        return EngineErrors.lost(file.path, refused, settings.quotaKey);
    }

    /**
     * Commits if there are many changes, or lets a thread in the background do so, unless there are very many. Requires
     * the lock.
     */
    private void commitIfLarge() {
        if (!isLarge()) {
            ShardMemory.limitUncommitted(settings.memoryBytes);
            return;
        }
        if (settings.isAsynchronous && changedBytes < 2 * uncommittedMax) {
            isCommitWanted = true;
            BackgroundWrites.request(shard);
        } else {
            commit();
        }
    }

    /** Whether there are many changes, and no read of this thread uses the transaction. Requires the lock. */
    private boolean isLarge() {
        return transaction != null && changedBytes >= uncommittedMax && lock.getHoldCount() == 1;
    }

    /**
     * Applies the oldest full buffer, and commits if there are many changes, for {@link BackgroundWrites}. If a call
     * uses the shard for long, it does nothing. Returns false if it has failed. If changes are lost, the next call of
     * the shard throws the failure, also {@link Shard#close}; otherwise the next that finds no room or needs the
     * changes.
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
            LOGGER.warn("writing changes of {} in the background failed", file.path, refused);
            leaveFailureToNextCall();
            return false;
        } finally {
            if (isLocked) {
                lock.unlock();
            }
        }
    }

    /** Commits all changes that were made before. Needs no lock. */
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
            throw lost(refused);
        }
        // Only now: a read that sees no changes reads what is committed.
        queue.committed();
        sizes.noteCommit(changedBytes);
        note(-changedBytes);
        shareMemory();
        sizes.checkSometimes();
        ShardMemory.limit(settings.memoryBytes);
    }

    /**
     * Commits all changes, also those that wait for a thread in the background, unless changes were lost before. None
     * can be added afterwards. Requires the lock.
     */
    void end() {
        try {
            // A change that is added after the last commit would be lost without an error.
            queue.seal();
            if (failed == null) {
                flush();
            }
        } finally {
            // They are applied, or the caller gets an exception.
            queue.discard();
        }
    }

    /** Discards all changes. None can be added afterwards. Requires the lock. */
    void abandon() {
        queue.seal();
        queue.discard();
        note(-changedBytes);
        if (transaction != null) {
            transaction.close();
            transaction = null;
        }
    }
}
