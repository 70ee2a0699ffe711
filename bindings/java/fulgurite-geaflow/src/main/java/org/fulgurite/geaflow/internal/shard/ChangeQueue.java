package org.fulgurite.geaflow.internal.shard;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Small changes of a shard that its transaction does not have yet: full buffers, oldest first, and the one that is
 * being filled. Adding changes needs no other lock than the monitor of the queue, so it does not wait for a commit.
 *
 * <p>Invariant: buffers are taken in the order in which they were filled, by a thread that has the shard's lock. A read
 * with that lock therefore finds every change either here or in the transaction.
 *
 * <p>A shard with a quota pauses the queue before each commit. Such a queue has changes only while there is a
 * transaction, so a transaction that is refused leaves no change behind that was accepted before.
 */
final class ChangeQueue {
    /** What became of changes. */
    enum Added {
        BUFFERED,

        /** They are buffered, and a full buffer waits to be applied. */
        FILLED,

        /** They are not buffered: there are as many full buffers, or bytes in them, as there may be. */
        NO_ROOM,

        /** They are not buffered: the queue waits for a transaction. */
        PAUSED,

        /** They are not buffered: the shard is being closed, or has failed. */
        SEALED
    }

    /**
     * With so many bytes in full buffers there is no room, however many buffers there may be. A transaction may get
     * them all, after a few MiB of other changes. It must stay below the 64 MiB that the engine has for one, which
     * counts up to three times as many bytes: a larger one is written to the file, and with a quota may be refused.
     */
    static final long FULL_BYTES_MAX = 8 << 20;

    private final int tables;
    private final int buffersMax;
    private final int changesMax;

    /** The monitor of the queue guards this and the next fields. */
    private final Deque<Changes> full = new ArrayDeque<>();

    /** The sum of {@link Changes#memoryBytes} of the full buffers. */
    private long fullBytes;

    /** Null if it would be empty. */
    private Changes filling;

    /** An empty buffer to be used again; null if there is none. */
    private Changes spare;

    private boolean isSealed;

    /** Whether changes wait for a transaction. */
    private boolean isPaused;

    /** Whether a buffer or the transaction has changes. Written with the monitor. */
    private volatile boolean hasChanges;

    /**
     * An empty queue.
     *
     * @param tables how many tables the shard has
     * @param buffersMax how many buffers there may be, with the one that is being filled
     * @param changesMax how many changes a buffer may have
     */
    ChangeQueue(int tables, int buffersMax, int changesMax) {
        this.tables = tables;
        this.buffersMax = buffersMax;
        this.changesMax = changesMax;
    }

    /** Whether there are changes that are not committed. */
    boolean hasChanges() {
        return hasChanges;
    }

    /** Notes that a transaction was begun, which will have changes. Requires the shard's lock. */
    synchronized void begun() {
        hasChanges = true;
        isPaused = false;
    }

    /** Adds changes, at least one, to one buffer. */
    synchronized Added add(List<ShardEntry> changes) {
        if (isSealed) {
            return Added.SEALED;
        }
        if (isPaused) {
            return Added.PAUSED;
        }
        if (!hasRoom()) {
            return Added.NO_ROOM;
        }
        boolean isFilled = queueFilled();
        if (filling == null) {
            filling = spare == null ? new Changes(tables, changesMax) : spare;
            spare = null;
        }
        for (ShardEntry change : changes) {
            filling.add(change);
        }
        hasChanges = true;
        isFilled |= queueFilled();
        return isFilled ? Added.FILLED : Added.BUFFERED;
    }

    /** Puts the buffer that is being filled behind the full ones, if it is full and there is room for another. */
    private boolean queueFilled() {
        boolean isFilled = filling != null && filling.isFull() && isRoomForFull();
        if (isFilled) {
            full.addLast(filling);
            fullBytes += filling.memoryBytes();
            filling = null;
        }
        return isFilled;
    }

    private boolean isRoomForFull() {
        return full.size() + 1 < buffersMax && fullBytes < FULL_BYTES_MAX;
    }

    /** Whether a change can be added. */
    synchronized boolean hasRoom() {
        return filling == null || !filling.isFull() || isRoomForFull();
    }

    /** Whether a buffer has changes. */
    synchronized boolean hasBuffered() {
        return !full.isEmpty() || filling != null;
    }

    /** Whether there is a full buffer. */
    boolean hasFull() {
        return fullCount() > 0;
    }

    /** How many buffers are full. */
    synchronized int fullCount() {
        return full.size() + (filling != null && filling.isFull() ? 1 : 0);
    }

    /** Takes the oldest full buffer; null if there is none. Requires the shard's lock. */
    synchronized Changes takeFull() {
        Changes oldest = full.pollFirst();
        if (oldest != null) {
            fullBytes -= oldest.memoryBytes();
        } else if (filling != null && filling.isFull()) {
            oldest = filling;
            filling = null;
        }
        return oldest;
    }

    /** Takes all buffers, oldest first. Changes that are added later are not among them. Requires the shard's lock. */
    synchronized List<Changes> takeAll() {
        List<Changes> taken = new ArrayList<>(full);
        full.clear();
        fullBytes = 0;
        if (filling != null) {
            taken.add(filling);
            filling = null;
        }
        return taken;
    }

    /** Takes all buffers, oldest first. Nothing is added until {@link #begun}. Requires the shard's lock. */
    synchronized List<Changes> takeAllAndPause() {
        isPaused = true;
        return takeAll();
    }

    /** Whether a change of a key may be in a buffer. */
    synchronized boolean mayHave(int table, byte[] key) {
        if (filling != null && filling.mayHave(table, key)) {
            return true;
        }
        for (Changes changes : full) {
            if (changes.mayHave(table, key)) {
                return true;
            }
        }
        return false;
    }

    /** Keeps a buffer that was taken and applied, to use it again. */
    void recycle(Changes applied) {
        applied.clear();
        synchronized (this) {
            spare = applied;
        }
    }

    /** Called when all that was taken is committed. Requires the shard's lock. */
    synchronized void committed() {
        hasChanges = hasBuffered();
        if (!hasChanges) {
            // A shard that is not used keeps no buffer.
            spare = null;
        }
    }

    /** From now on nothing is added. */
    synchronized void seal() {
        isSealed = true;
    }

    /** Removes all changes that were not taken. */
    synchronized void discard() {
        full.clear();
        fullBytes = 0;
        filling = null;
        spare = null;
    }
}
