package org.fulgurite.geaflow.internal.shard;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * Bounds the memory of changes of all open shards of the process together: changes that are not committed, and commits
 * that are not in the files yet.
 */
final class ShardMemory {
    private static final Set<Shard> OPEN = ConcurrentHashMap.newKeySet();

    /** An eighth of the memory is for changes that are not committed. */
    private static final int UNCOMMITTED_PART = 8;

    private static final long UNCOMMITTED_MIN = 64 << 10;
    private static final long UNCOMMITTED_MAX = 4 << 20;

    /** All shards together may have as much, however small the memory is: otherwise commits are very small. */
    private static final long UNCOMMITTED_SUM_MIN = 8 * UNCOMMITTED_MIN;

    /** The bytes of changes in the transactions of all shards. */
    private static final AtomicLong UNCOMMITTED = new AtomicLong();

    /** Whether a thread commits changes of the shards. */
    private static final AtomicBoolean IS_LIMITING = new AtomicBoolean();

    private ShardMemory() {}

    static void add(Shard shard) {
        OPEN.add(shard);
    }

    static void remove(Shard shard) {
        OPEN.remove(shard);
    }

    /** Returns how many bytes of changes a shard collects before it commits them. */
    static long uncommittedMax(long memoryBytes) {
        long share = memoryBytes / UNCOMMITTED_PART / Math.max(1, OPEN.size());
        return Math.max(UNCOMMITTED_MIN, Math.min(UNCOMMITTED_MAX, share));
    }

    /** Adds to the bytes of changes in transactions, or takes from them. */
    static void noteUncommitted(long bytes) {
        UNCOMMITTED.addAndGet(bytes);
    }

    /**
     * If there are many changes that are not committed, commits those of shards that no call uses, the oldest first.
     * The caller may have the lock of a shard: those of other shards are only tried.
     */
    static void limitUncommitted(long memoryBytes) {
        long max = Math.max(UNCOMMITTED_SUM_MIN, memoryBytes / UNCOMMITTED_PART);
        if (UNCOMMITTED.get() <= max || !IS_LIMITING.compareAndSet(false, true)) {
            return;
        }
        try {
            long now = System.nanoTime();
            for (Shard oldest : ascending(shard -> shard.changedSince() - now)) {
                if (UNCOMMITTED.get() <= max / 2) {
                    return;
                }
                if (oldest.uncommittedBytes() > 0) {
                    oldest.commitIfFree();
                }
            }
        } finally {
            IS_LIMITING.set(false);
        }
    }

    /** Writes commits to files, those of the largest shards first, until all shards use less than the given memory. */
    static void limit(long memoryBytes) {
        long used = OPEN.stream().mapToLong(Shard::committedBytes).sum();
        if (used <= memoryBytes) {
            return;
        }
        for (Shard largest : ascending(shard -> -shard.committedBytes())) {
            if (used <= memoryBytes / 2) {
                return;
            }
            used -= largest.committedBytes();
            largest.writeCommits();
        }
    }

    /** The open shards in the order of a number, which is read once: other threads change it meanwhile. */
    private static List<Shard> ascending(ToLongFunction<Shard> number) {
        return OPEN.stream()
                .<Map.Entry<Long, Shard>>map(shard -> new SimpleImmutableEntry<>(number.applyAsLong(shard), shard))
                .sorted(Map.Entry.comparingByKey())
                .map(Map.Entry::getValue)
                .collect(Collectors.toList());
    }
}
