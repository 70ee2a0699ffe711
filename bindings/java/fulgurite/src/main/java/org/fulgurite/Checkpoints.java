package org.fulgurite;

import java.nio.file.Path;
import java.util.Objects;
import java.util.function.LongFunction;
import org.fulgurite.checkpoints.CheckpointStorage;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.MergeCalls;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.StorageCalls;

/**
 * Creates checkpoints of one database in a storage, and restores them. The first checkpoint has all entries, in
 * segments of some megabytes. A later one sends only the changes since the one before, if the database has kept their
 * log ({@link DatabaseOptions#keepLog}) and they are smaller than half of the segments. Otherwise it sends the segments
 * that no committed checkpoint of the storage has.
 *
 * <pre>{@code
 * DatabaseOptions options = Database.options().create(true).keepLog(64 << 20);
 * try (Database database = options.open(path);
 *         Checkpoints checkpoints = new Checkpoints(new DirectoryStorage(directory))) {
 *     checkpoints.create(database, 1);
 * }
 * try (Checkpoints checkpoints = new Checkpoints(new DirectoryStorage(directory));
 *         Database restored = checkpoints.restore(1, otherPath, options)) {
 *     restored.read(txn -> txn.get(table, key));
 * }
 * }</pre>
 *
 * <p>A checkpoint exists as a whole or not at all, also if a step fails or the process ends. Threads can share this
 * object: their calls run one after the other.
 */
public final class Checkpoints implements AutoCloseable {
    private static final int RETAINED_DEFAULT = 10;
    private static final int COMPRESSION_LEVEL_DEFAULT = 1;

    private final StorageCalls calls;
    private final Handle handle;

    /**
     * Keeps the newest ten checkpoints in a storage, compressed at level 1 of Zstandard.
     *
     * @param storage the storage
     */
    public Checkpoints(CheckpointStorage storage) {
        this(storage, RETAINED_DEFAULT);
    }

    /**
     * Keeps the newest checkpoints in a storage, compressed at level 1 of Zstandard.
     *
     * @param storage the storage
     * @param retained how many, at least one
     */
    public Checkpoints(CheckpointStorage storage, int retained) {
        this(storage, retained, COMPRESSION_LEVEL_DEFAULT);
    }

    /**
     * Keeps the newest checkpoints in a storage, compressed at a level of Zstandard.
     *
     * @param storage the storage
     * @param retained how many, at least one
     * @param compressionLevel from 1, which is fast and the default, to 22, which makes the smallest files; 0 stores
     *     files as they are. After a change of the level, files that the storage has are not sent again
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#INVALID} if a number is not allowed
     */
    public Checkpoints(CheckpointStorage storage, int retained, int compressionLevel) {
        calls = new StorageCalls(Objects.requireNonNull(storage, "storage"));
        long raw = Native.openCheckpoints(calls, retained, compressionLevel);
        handle = new Handle(this, raw, "Checkpoints", false, Handle.newSet());
    }

    /** What a checkpoint has sent. */
    public static final class Report {
        private final long bytesSent;
        private final boolean whole;
        private final Throwable removalFailure;

        private Report(long[] report, Throwable removalFailure) {
            bytesSent = report[0];
            whole = report[1] != 0;
            this.removalFailure = report[2] != 0 ? null : removalFailure;
        }

        /**
         * Returns the size of what was sent.
         *
         * @return the bytes after compression, without the list of the checkpoint's files; 0 if the storage had all
         *     data
         */
        public long bytesSent() {
            return bytesSent;
        }

        /**
         * Returns whether the checkpoint has all entries as segments, and not only changes since the one before.
         * Segments that the storage had were not sent.
         *
         * @return whether the checkpoint is whole
         */
        public boolean isWhole() {
            return whole;
        }

        /**
         * Returns why the files that are no longer needed were not removed. The next checkpoint removes them.
         *
         * @return what the storage has thrown, or null if they were removed
         */
        public Throwable removalFailure() {
            return removalFailure;
        }

        @Override
        public String toString() {
            return bytesSent + " bytes sent, " + (whole ? "a whole checkpoint" : "changes");
        }
    }

    /** Runs a call. If the storage has thrown, its exception is the cause of the one that this throws. */
    private synchronized <T> T call(LongFunction<T> call) {
        // Of a call that succeeded without it.
        calls.takeFailure();
        try {
            return call.apply(handle.raw());
        } catch (FulguriteException failed) {
            Throwable cause = calls.takeFailure();
            if (cause != null) {
                failed.initCause(cause);
            }
            throw failed;
        }
    }

    /**
     * Creates a checkpoint of everything that is committed, and replaces one with the same id. Then it removes older
     * checkpoints than those to keep, and files that no checkpoint needs.
     *
     * @param database the database
     * @param id the id, not negative
     * @return what was sent
     * @throws FulguriteException if the storage or the database fails. The checkpoint does not exist then, and the one
     *     that it was to replace may be gone
     */
    public Report create(Database database, long id) {
        return call(raw -> new Report(Native.createCheckpoint(raw, database.raw(), id), calls.takeFailure()));
    }

    /**
     * Returns the ids of the checkpoints.
     *
     * @return the ids, in ascending order
     * @throws FulguriteException if the storage fails
     */
    public long[] ids() {
        return call(Native::checkpointIds);
    }

    /**
     * Restores a checkpoint into a new database, and opens it. The next checkpoint of this database sends only what has
     * changed since. After an error, no file is left at the path.
     *
     * @param id the id
     * @param path the path of the new file
     * @param options the options of the opening
     * @return the open database; close it
     * @throws org.fulgurite.exceptions.CorruptException if a stored file is damaged
     * @throws FulguriteException if there is no such checkpoint, there is a file at the path, or the storage fails
     */
    public Database restore(long id, Path path, DatabaseOptions options) {
        Path absolute = Objects.requireNonNull(path, "path").toAbsolutePath();
        long[] values = options.values();
        String[] names = options.functionNames();
        MergeCalls[] functions = options.functions();
        return call(raw -> new Database(
                absolute, Native.restoreCheckpoint(raw, id, absolute.toString(), values, names, functions)));
    }

    /** Releases this object, after running calls have returned. Stored checkpoints stay. A second call does nothing. */
    @Override
    public synchronized void close() {
        handle.close();
    }
}
