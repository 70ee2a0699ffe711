package org.fulgurite.geaflow.internal.shard;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

    /** Writes commits to files, those of the largest shards first, until all shards use less than the given memory. */
    static void limit(long memoryBytes) {
        long used = OPEN.stream().mapToLong(Shard::committedBytes).sum();
        if (used <= memoryBytes) {
            return;
        }
        List<Shard> largest = OPEN.stream()
                .sorted(Comparator.comparingLong(Shard::committedBytes).reversed())
                .collect(Collectors.toList());
        for (Shard shard : largest) {
            if (used <= memoryBytes / 2) {
                return;
            }
            used -= shard.committedBytes();
            shard.writeCommits();
        }
    }
}
