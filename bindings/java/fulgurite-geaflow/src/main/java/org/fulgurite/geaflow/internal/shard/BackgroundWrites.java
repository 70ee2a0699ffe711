package org.fulgurite.geaflow.internal.shard;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of the process that apply and commit changes of shards in the background. Their number does not depend on
 * that of the shards. They start with the first full buffers, and end when there was nothing to do for some time: a
 * thread that lives keeps this class and its class loader in memory.
 *
 * <p>Each shard waits at most once in the queue of the threads, and gets one buffer applied at its turn: a shard that
 * is written fast does not delay others. Nothing relies on the threads: a call that finds no room, or that needs a
 * change, applies it itself.
 */
final class BackgroundWrites {
    static final String THREAD_NAME = "fulgurite-geaflow-write-";
    static final int THREADS_MAX = Math.max(1, Math.min(4, Runtime.getRuntime().availableProcessors()));

    /** A thread ends if it gets nothing to do for so long. */
    private static final long KEPT_MS = 2_000;

    private static final Logger LOGGER = LoggerFactory.getLogger(BackgroundWrites.class);
    private static final AtomicInteger STARTED = new AtomicInteger();
    private static final ThreadPoolExecutor THREADS = pool();

    private BackgroundWrites() {}

    private static ThreadPoolExecutor pool() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                THREADS_MAX,
                THREADS_MAX,
                KEPT_MS,
                TimeUnit.MILLISECONDS,
                new LinkedBlockingQueue<>(),
                BackgroundWrites::thread);
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, THREAD_NAME + STARTED.incrementAndGet());
        thread.setDaemon(true);
        // Otherwise it is that of the thread that wrote, which may be of another job, until the thread ends.
        thread.setContextClassLoader(null);
        return thread;
    }

    /** Lets a thread apply a full buffer of a shard and commit, if no thread will do so already. */
    static void request(Shard shard) {
        if (!shard.isRequested.compareAndSet(false, true)) {
            return;
        }
        try {
            THREADS.execute(() -> run(shard));
        } catch (RuntimeException | Error noThread) {
            shard.isRequested.set(false);
            LOGGER.warn("no thread for writes in the background; callers write themselves", noThread);
        }
    }

    private static void run(Shard shard) {
        boolean isDone = shard.applyInBackground();
        shard.isRequested.set(false);
        // Requests before the flag was cleared did nothing. If a call uses the shard for long, nothing was done either.
        if (isDone && (shard.hasFullBuffer() || shard.isCommitWanted())) {
            request(shard);
        }
    }
}
