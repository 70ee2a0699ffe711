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
 * returns this object. A negative size or duration throws {@link IllegalArgumentException}. Other values that are not
 * allowed are errors of {@link #open}. Durations are rounded down to milliseconds. Use options on one thread at a time.
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
     * Sets whether to open the database for reading only. Default: false. If another process has it open for writing,
     * reads show its newest checkpoint.
     *
     * @param readOnly whether to open it for reading only
     * @return this
     */
    public DatabaseOptions readOnly(boolean readOnly) {
        return set(1, readOnly);
    }

    /**
     * Sets the page size of a new database. Default: 16,384 bytes.
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
     * the machine or of the control group of the process, at least 64 MiB and at most 384 MiB.
     *
     * @param bytes the memory in bytes, 64 KiB to 8 GiB
     * @return this
     */
    public DatabaseOptions deltaBytes(long bytes) {
        return set(4, notNegative(bytes));
    }

    /**
     * Sets the memory for the changes of one write transaction. Above it, changes are spilled to the file. Default:
     * half of {@link #deltaBytes}, at least 64 MiB and at most 192 MiB.
     *
     * @param bytes the memory in bytes, at least 1 KiB
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
     * Limits the size of the data file. Writes above it throw {@link org.fulgurite.exceptions.StorageFullException}.
     * Default: no limit.
     *
     * @param bytes the limit in bytes
     * @return this
     */
    public DatabaseOptions maxSizeBytes(long bytes) {
        return set(8, notNegative(bytes));
    }

    /**
     * Sets whether to map the file and the log into memory. Default: true. Without a map, the page cache is used
     * ({@link #cacheBytes}), and errors of the disk are exceptions and not signals that end the virtual machine.
     *
     * @param map whether to map them
     * @return this
     */
    public DatabaseOptions map(boolean map) {
        return set(9, map);
    }

    /**
     * Sets whether to request huge pages for the map. Default: true. Without them, gets take about twice as long.
     *
     * @param hugePages whether to request them
     * @return this
     */
    public DatabaseOptions hugePages(boolean hugePages) {
        return set(10, hugePages);
    }

    /**
     * Sets whether a background thread runs checkpoints. Default: true. Without it, a checkpoint runs in {@link
     * Database#checkpoint()}, or in a commit that finds the memory of {@link #deltaBytes} used up.
     *
     * @param background whether to use a background thread
     * @return this
     */
    public DatabaseOptions background(boolean background) {
        return set(11, background);
    }

    /**
     * Sets how long opening waits if another process has the database open for writing, before it throws {@link
     * org.fulgurite.exceptions.LockedException}. Default: zero.
     *
     * @param atMost the longest wait
     * @return this
     */
    public DatabaseOptions waitForLock(Duration atMost) {
        return set(12, millis(atMost));
    }

    /**
     * Sets how much log is kept beyond what recovery needs, for {@link Database#changes} and {@link Checkpoints}. Set
     * it at every opening for writing: opening without it removes the kept log. Default: 0.
     *
     * @param bytes the size in bytes
     * @return this
     */
    public DatabaseOptions keepLog(long bytes) {
        return set(13, notNegative(bytes));
    }

    /**
     * Limits the age of commits that are not in the file: when the oldest is older, the background thread runs a
     * checkpoint. Another process, such as one that makes a backup, sees only the newest checkpoint. Default: zero,
     * which sets no limit. A shorter age than a millisecond is rounded up to one. If this process has the database open
     * already, the age must be the same, or zero.
     *
     * @param interval the greatest age
     * @return this
     */
    public DatabaseOptions checkpointInterval(Duration interval) {
        long millis = millis(interval);
        return set(14, millis == 0 && !interval.isZero() ? 1 : millis);
    }

    /**
     * Registers a function for {@link WriteTransaction#merge} in tables with {@link TableOptions#mergeFunction} and
     * this name. Register it at each opening: a table stores the name only. If this process already has the database
     * open, the functions of its first opening stay, and an opening with a new name fails with the kind {@code
     * ALREADY_OPEN}.
     *
     * @param name the name, 1 to 255 bytes
     * @param function the function
     * @return this
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code INVALID} if the name has half of a
     *     surrogate pair
     */
    public DatabaseOptions mergeFunction(String name, MergeFunction function) {
        Table.checkName(name);
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
     * Opens the database. If this process already has it open with the same options, the result shares it. Close it.
     *
     * @param path the path of the file
     * @return the open database
     * @throws org.fulgurite.exceptions.LockedException if another process has it open for writing
     * @throws org.fulgurite.exceptions.CorruptException if it is damaged
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#DATABASE_NOT_FOUND} if it does not exist and {@link #create} is not set,
     *     of the kind {@code ALREADY_OPEN} if this process has it open with other options, of the kind {@code INVALID}
     *     if an option is not valid, and of other kinds if it cannot be opened
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
