package org.fulgurite.geaflow.internal.shard;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Bounds how many files of shards the process has open, and with that its file descriptors. The least recently used
 * files are closed. Their shards open them again when they are used.
 */
final class OpenFiles {
    /** The shards whose files are open, and some whose files were closed; the next one to look at is the first. */
    private static final Deque<Shard> OPEN = new ArrayDeque<>();

    private OpenFiles() {}

    static void add(Shard shard) {
        synchronized (OPEN) {
            OPEN.addLast(shard);
        }
    }

    static void remove(Shard shard) {
        synchronized (OPEN) {
            OPEN.remove(shard);
        }
    }

    private static int count() {
        synchronized (OPEN) {
            return OPEN.size();
        }
    }

    /** Closes files until there is room for one more, as far as they are not in use. */
    static void makeRoom(int filesMax) {
        // In the first round each file that was used is passed.
        for (int looks = 2 * count(); looks > 0 && count() >= filesMax; looks--) {
            Shard next;
            synchronized (OPEN) {
                next = OPEN.pollFirst();
            }
            if (next != null && !next.closeIdleFile()) {
                add(next);
            }
        }
    }
}
