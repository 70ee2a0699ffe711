package org.fulgurite.rdf4j;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.SailErrors;

/**
 * A bulk load of files: the fastest way to fill a store. It parses the files on all processors, and inserts everything
 * or nothing. While it builds the indexes, commits of connections wait.
 *
 * <pre>{@code
 * BulkLoad.Report report = store.bulkLoad().file(Path.of("data.nt.gz")).run();
 * }</pre>
 *
 * <p>The extension gives the format: {@code .nt}, {@code .nq}, {@code .ttl}, {@code .trig}, {@code .rdf} and
 * {@code .jsonld}; compressed files (gzip, bzip2, xz, zstd) have a second one, such as {@code .nt.gz}. An interrupt of
 * the thread that loads cancels the load, and the thread stays interrupted.
 *
 * <p>Connection listeners are not notified. Sails above the store, such as an inferencer, ShaclSail and LuceneSail, do
 * not see the statements. Use a load on one thread.
 */
public final class BulkLoad {
    private static final Logger LOGGER = Logger.getLogger("org.fulgurite");
    private static final long WATCH_MILLISECONDS = 100;

    private final FulguriteStore store;
    private final List<String> files = new ArrayList<>();
    private String graph;
    private boolean lenient;
    private Listener listener;

    /** Set by the watcher, and read after the watcher has ended. */
    private boolean listenerHasFailed;

    BulkLoad(FulguriteStore store) {
        this.store = store;
    }

    /**
     * Receives the progress of a load: about every 100 ms on a separate thread, and at the end on the thread that
     * loads. The calls do not overlap, and {@link #run} waits for their end. If a call throws an exception, the
     * exception is logged, the load continues, and the listener is not called again.
     */
    @FunctionalInterface
    public interface Listener {
        /**
         * Receives the progress.
         *
         * @param stage the current step of the load
         * @param bytesRead bytes of the files that were read
         * @param bytesTotal bytes of all files
         * @param statements statements that the step has processed
         */
        void progress(String stage, long bytesRead, long bytesTotal, long statements);
    }

    /** The result of a load. */
    public static final class Report {
        private final long[] counts;

        private Report(long[] counts) {
            this.counts = counts;
        }

        /**
         * Returns the number of statements in the files, with repeated ones.
         *
         * @return the statements
         */
        public long read() {
            return counts[0];
        }

        /**
         * Returns the number of statements that are new.
         *
         * @return the new statements
         */
        public long inserted() {
            return counts[1];
        }

        /**
         * Returns the number of terms that are new.
         *
         * @return the new terms
         */
        public long newTerms() {
            return counts[2];
        }

        /**
         * Returns the number of malformed statements that a lenient load has skipped.
         *
         * @return the skipped statements
         */
        public long skipped() {
            return counts[3];
        }

        /**
         * Returns the duration.
         *
         * @return the duration in milliseconds
         */
        public long milliseconds() {
            return counts[4];
        }

        @Override
        public String toString() {
            return read() + " statements read, " + inserted() + " inserted, " + skipped() + " skipped, in "
                    + milliseconds() + " ms";
        }
    }

    /**
     * Adds a file.
     *
     * @param file the file
     * @return this load
     */
    public BulkLoad file(Path file) {
        files.add(file.toAbsolutePath().toString());
        return this;
    }

    /**
     * Loads statements that have no graph into a named graph, instead of the default graph.
     *
     * @param context the named graph
     * @return this load
     */
    public BulkLoad into(IRI context) {
        graph = context.stringValue();
        return this;
    }

    /**
     * Skips malformed statements. Without this, the first one is an error, and nothing is loaded.
     *
     * @return this load
     */
    public BulkLoad lenient() {
        lenient = true;
        return this;
    }

    /**
     * Sets the listener that receives the progress of the load.
     *
     * @param newListener the listener
     * @return this load
     */
    public BulkLoad listener(Listener newListener) {
        listener = Objects.requireNonNull(newListener, "listener");
        return this;
    }

    /**
     * Loads the files.
     *
     * @return what was loaded
     * @throws SailException if a file cannot be read or is malformed, the store is read-only, or the thread is
     *     interrupted; nothing is loaded then
     */
    public Report run() {
        store.requireWritable();
        long[] counts = new long[5];
        listenerHasFailed = false;
        Handle load = new Handle(this, NativeQuads.newLoad(), "load", false, Handle.newSet());
        Thread loading = Thread.currentThread();
        CountDownLatch ended = new CountDownLatch(1);
        Thread watcher = new Thread(() -> watch(load, ended, loading), "fulgurite-load");
        watcher.setDaemon(true);
        watcher.start();
        try {
            NativeQuads.load(
                    store.raw(), load.raw(), files.toArray(new String[0]), graph, lenient, counts);
            end(ended, watcher);
            report(load);
            return new Report(counts);
        } catch (FulguriteException error) {
            throw SailErrors.of(error);
        } finally {
            end(ended, watcher);
            load.close();
        }
    }

    /**
     * Ends the watcher, so that the last report is made after all others. It is not interrupted: a listener that it
     * calls may clear the interrupt.
     */
    private static void end(CountDownLatch ended, Thread watcher) {
        ended.countDown();
        boolean wasInterrupted = false;
        while (watcher.isAlive()) {
            try {
                watcher.join();
            } catch (InterruptedException error) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void report(Handle load) {
        long[] progress = new long[3];
        String stage = NativeQuads.loadProgress(load.raw(), progress);
        if (stage == null || listener == null || listenerHasFailed) {
            return;
        }
        try {
            listener.progress(stage, progress[0], progress[1], progress[2]);
        } catch (RuntimeException error) {
            listenerHasFailed = true;
            LOGGER.log(Level.WARNING, "the listener of a bulk load failed, and is not called again", error);
        }
    }

    private void watch(Handle load, CountDownLatch ended, Thread loading) {
        try {
            while (!ended.await(WATCH_MILLISECONDS, TimeUnit.MILLISECONDS)) {
                if (loading.isInterrupted()) {
                    NativeQuads.cancelLoad(load.raw());
                }
                report(load);
                // A listener may have interrupted this thread.
                Thread.interrupted();
            }
        } catch (FulguriteException | InterruptedException failure) {
            LOGGER.log(Level.WARNING, "the progress of a bulk load is not reported any more", failure);
        }
    }
}
