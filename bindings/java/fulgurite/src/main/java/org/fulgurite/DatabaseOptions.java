package org.fulgurite;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.fulgurite.internal.MergeCalls;
import org.fulgurite.internal.Native;
import org.fulgurite.options.Durability;
import org.fulgurite.options.Isolation;
import org.fulgurite.options.MergeFunction;

/**
 * Options for opening a database. {@link Database#options()} returns the defaults; each method changes one option and
 * returns this object. A negative size or duration throws {@link IllegalArgumentException}. Durations are rounded down
 * to milliseconds.
 */
public final class DatabaseOptions {
    /** The native library leaves an option with this value at its default. */
    private static final long DEFAULT = Long.MIN_VALUE;

    private final long[] values = new long[15];
    private final Map<String, MergeCalls> functions = new LinkedHashMap<>();

    DatabaseOptions() {
        Arrays.fill(values, DEFAULT);
    }

    private DatabaseOptions set(int position, long value) {
        values[position] = value;
        return this;
    }

    private DatabaseOptions set(int position, boolean value) {
        return set(position, value ? 1 : 0);
    }

    /**
     * Sets whether to create the database if it does not exist. Default: false.
     *
     * @param create whether to create it
     * @return this
     */
    public DatabaseOptions create(boolean create) {
        return set(0, create);
    }

    /**
     * Sets whether to open the database for reading only. Default: false. If another process writes, reads show its
     * newest checkpoint.
     *
     * @param readOnly whether to open it for reading only
     * @return this
     */
    public DatabaseOptions readOnly(boolean readOnly) {
        return set(1, readOnly);
    }

    /**
     * Sets the page size of a new database. Default: 16,384.
     *
     * @param bytes 8,192 or 16,384
     * @return this
     */
    public DatabaseOptions pageSizeBytes(int bytes) {
        return set(2, bytes);
    }

    /**
     * Sets the size of the page cache. It is used only if the file is not mapped. Default: 64 MiB.
     *
     * @param bytes the size in bytes
     * @return this
     */
    public DatabaseOptions cacheBytes(long bytes) {
        return set(3, notNegative(bytes));
    }

    /**
     * Sets the memory that commits use before a checkpoint writes them to the file. Default: a 64th of the memory of
     * the machine, at least 64 MiB and at most 384 MiB.
     *
     * @param bytes the memory in bytes, at most 8 GiB
     * @return this
     */
    public DatabaseOptions deltaBytes(long bytes) {
        return set(4, notNegative(bytes));
    }

    /**
     * Sets the memory for the changes of one write transaction. Further changes are spilled to the file. Default: 64
     * MiB.
     *
     * @param bytes the memory in bytes
     * @return this
     */
    public DatabaseOptions writeSetBytes(long bytes) {
        return set(5, notNegative(bytes));
    }

    /**
     * Sets the durability of {@link WriteTransaction#commit()}. Default: {@link Durability#DISK}.
     *
     * @param durability the durability
     * @return this
     */
    public DatabaseOptions durability(Durability durability) {
        return set(6, durability.ordinal());
    }

    /**
     * Sets the isolation of {@link Database#beginWrite()}. Default: {@link Isolation#SERIALIZABLE}.
     *
     * @param isolation the isolation
     * @return this
     */
    public DatabaseOptions isolation(Isolation isolation) {
        return set(7, isolation.ordinal());
    }

    /**
     * Limits the size of the data file. Default: no limit.
     *
     * @param bytes the limit in bytes
     * @return this
     */
    public DatabaseOptions maxSizeBytes(long bytes) {
        return set(8, notNegative(bytes));
    }

    /**
     * Sets whether to map the file and the log into memory. Default: true. Without a map, errors of the disk are
     * exceptions and not signals that end the virtual machine.
     *
     * @param map whether to map them
     * @return this
     */
    public DatabaseOptions map(boolean map) {
        return set(9, map);
    }

    /**
     * Sets whether to request huge pages for the map. Default: true.
     *
     * @param hugePages whether to request them
     * @return this
     */
    public DatabaseOptions hugePages(boolean hugePages) {
        return set(10, hugePages);
    }

    /**
     * Sets whether a background thread runs checkpoints. Default: true.
     *
     * @param background whether to use a background thread
     * @return this
     */
    public DatabaseOptions background(boolean background) {
        return set(11, background);
    }

    /**
     * Sets how long opening waits if another process has the database open for writing. Default: zero.
     *
     * @param atMost the longest wait
     * @return this
     */
    public DatabaseOptions waitForLock(Duration atMost) {
        return set(12, millis(atMost));
    }

    /**
     * Retains so many bytes of log beyond what recovery needs. Default: 0.
     *
     * @param bytes the size in bytes
     * @return this
     */
    public DatabaseOptions keepLog(long bytes) {
        return set(13, notNegative(bytes));
    }

    /**
     * Limits the age of commits that no checkpoint has: a background thread then writes them to the file. Another
     * process, such as one that makes a backup, sees only the newest checkpoint. Default: zero, which sets no limit.
     *
     * @param interval the greatest age
     * @return this
     */
    public DatabaseOptions checkpointInterval(Duration interval) {
        return set(14, millis(interval));
    }

    /**
     * Registers a function for {@link WriteTransaction#merge} in tables with {@link TableOptions#mergeFunction} and this
     * name. Register it at each opening: a table stores the name only. If this process already has the database open,
     * the function that was registered first stays, and the opening fails with the kind {@code ALREADY_OPEN} if the
     * first one did not register the name.
     *
     * @param name the name, 1 to 255 bytes
     * @param function the function
     * @return this
     */
    public DatabaseOptions mergeFunction(String name, MergeFunction function) {
        Objects.requireNonNull(name, "name");
        functions.put(name, new MergeCalls(Objects.requireNonNull(function, "function")));
        return this;
    }

    private static long notNegative(long number) {
        if (number < 0) {
            throw new IllegalArgumentException(number + " is negative");
        }
        return number;
    }

    private static long millis(Duration duration) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException(duration + " is negative");
        }
        return Database.millisOf(duration);
    }

    /**
     * Opens the database. If this process already has it open with the same options, the result shares it.
     *
     * @param path the path of the file
     * @return the open database
     * @throws org.fulgurite.exceptions.LockedException if another process has it open for writing
     * @throws org.fulgurite.exceptions.CorruptException if it is damaged
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#DATABASE_NOT_FOUND} if it does not exist and must not be created; of other
     *     kinds if it cannot be opened
     */
    public Database open(Path path) {
        Path absolute = Objects.requireNonNull(path, "path").toAbsolutePath();
        return new Database(absolute, Native.open(absolute.toString(), values, functionNames(), functions()));
    }

    String[] functionNames() {
        return functions.keySet().toArray(new String[0]);
    }

    MergeCalls[] functions() {
        return functions.values().toArray(new MergeCalls[0]);
    }

    long[] values() {
        return values.clone();
    }
}
