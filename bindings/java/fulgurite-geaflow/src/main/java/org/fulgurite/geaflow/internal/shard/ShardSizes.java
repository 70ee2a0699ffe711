package org.fulgurite.geaflow.internal.shard;

import java.util.concurrent.atomic.AtomicLong;
import org.fulgurite.KeyRange;
import org.fulgurite.Stats;
import org.fulgurite.Table;
import org.fulgurite.Transaction;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.geaflow.internal.errors.EngineErrors;
import org.fulgurite.geaflow.internal.runtime.ShardMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sizes of a shard: reports them, compares them with the quota, and writes commits to the file when they take too
 * much memory. Calls require the shard's lock, unless they say otherwise.
 */
final class ShardSizes {
    private static final Logger LOGGER = LoggerFactory.getLogger(ShardSizes.class);
    private static final int COMMITS_PER_CHECK = 100;
    private static final double ALERT_THRESHOLD = 0.9;

    private final StoreSettings settings;
    private final ShardFile file;

    /** Null if nothing wants them. */
    private ShardMetrics metrics;

    private int commits;

    /** The bytes of commits since the sizes were checked. */
    private long uncheckedBytes;

    /** The part of the quota, in percent, that was logged last; negative if none was. */
    private long loggedPercent = -1;

    /** About the memory of commits that are not in the file. */
    private final AtomicLong committedBytes = new AtomicLong();

    ShardSizes(StoreSettings settings, ShardFile file) {
        this.settings = settings;
        this.file = file;
    }

    /** About the memory of commits that are not in the file. Needs no lock. */
    long committedBytes() {
        return committedBytes.get();
    }

    /** Notes a commit of so many bytes. */
    void noteCommit(long bytes) {
        committedBytes.addAndGet(bytes);
        uncheckedBytes += bytes;
    }

    /** Notes that all commits are in the file. */
    void noteWritten() {
        committedBytes.set(0);
    }

    /**
     * Writes what was committed into the file. Another shard may call this, without the lock, so a failure is only
     * logged.
     */
    void writeCommits() {
        OpenFile open = file.ifOpen();
        if (open == null) {
            return;
        }
        try {
            open.database.checkpoint();
            noteWritten();
        } catch (ClosedException closedMeanwhile) {
            // Closing it has written them.
        } catch (FulguriteException notWritten) {
            if (file.ifOpen() != open) {
                // It was discarded meanwhile, which stops this.
                return;
            }
            LOGGER.warn("commits of {} stay in memory: {}", file.path, EngineErrors.reason(notWritten));
        }
    }

    /** Reports the sizes from now on. */
    void reportTo(ShardMetrics newMetrics) {
        metrics = newMetrics;
        check();
    }

    /** Removes what was reported. */
    void endReports() {
        if (metrics != null) {
            metrics.remove();
        }
    }

    /** Called after each commit: checks the sizes now and then. */
    void checkSometimes() {
        if (++commits % COMMITS_PER_CHECK == 0) {
            check();
        } else if (settings.quotaBytes > 0 && uncheckedBytes >= settings.quotaStep()) {
            checkAndReport();
        }
    }

    /** Compares the sizes with the quota if something was committed since the last time. */
    void checkQuota() {
        if (uncheckedBytes > 0 && file.ifOpen() != null) {
            checkAndReport();
        }
    }

    /** Reports the sizes, and compares them with the quota. A warning is logged even if the last one was the same. */
    void check() {
        loggedPercent = -1;
        checkAndReport();
    }

    private void checkAndReport() {
        uncheckedBytes = 0;
        Stats stats = file.use().database.stats();
        committedBytes.set(stats.deltaBytes());
        boolean hasQuota = settings.quotaBytes > 0;
        if (metrics != null) {
            metrics.set(stats, entries(Transaction::estimateCount), hasQuota ? used(stats) : -1);
        }
        if (hasQuota) {
            warnOfQuota(stats);
        }
    }

    /** The part of the quota that the file uses. */
    private double used(Stats stats) {
        return (double) (stats.fileBytes() - stats.freeBytes()) / settings.quotaBytes;
    }

    /** Commits in memory count too: when the file has no room for them, writes are refused. */
    private void warnOfQuota(Stats stats) {
        double wanted = used(stats) + (double) stats.deltaBytes() / settings.quotaBytes;
        boolean isBelow = wanted < Math.min(settings.warningThreshold, ALERT_THRESHOLD);
        long percent = isBelow ? -1 : (long) (100 * wanted);
        if (percent == loggedPercent) {
            return;
        }
        loggedPercent = percent;
        String message = "{} uses {} % of its quota of {} bytes ({}); {} bytes of commits are still in memory";
        Object[] values = {
            file.path, Math.round(100 * used(stats)), settings.quotaBytes, settings.quotaKey, stats.deltaBytes()
        };
        if (wanted >= ALERT_THRESHOLD) {
            LOGGER.error(message, values);
        } else if (wanted >= settings.warningThreshold) {
            LOGGER.warn(message, values);
        }
    }

    /** Returns how many entries the tables have, without changes that are not committed. */
    long countEntries() {
        return entries(Transaction::count);
    }

    /** The sum of what a function says of all tables. */
    private long entries(EntryCount count) {
        OpenFile open = file.use();
        return open.database.read(transaction -> open.tables.stream()
                .mapToLong(table -> count.of(transaction, table, KeyRange.all()))
                .sum());
    }

    private interface EntryCount {
        long of(Transaction transaction, Table table, KeyRange range);
    }
}
