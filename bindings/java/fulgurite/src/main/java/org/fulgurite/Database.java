package org.fulgurite;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;
import org.fulgurite.changes.ChangeFeed;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.RetryableException;
import org.fulgurite.internal.EntryBuffer;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.Room;
import org.fulgurite.options.Isolation;

/**
 * An open database: one file of named, ordered tables. Threads can share it.
 *
 * <pre>{@code
 * try (Database database = Database.create(Paths.get("fruit.ful"))) {
 *     Table fruit = database.openOrCreateTable("fruit");
 *     database.write(txn -> txn.put(fruit, key, value));
 *     byte[] found = database.read(txn -> txn.get(fruit, key));
 * }
 * }</pre>
 */
public final class Database implements AutoCloseable {
    private static final int UPDATE_ATTEMPTS = 64;
    private static final long FIRST_PAUSE_NANOS = 10_000;
    private static final int PAUSE_DOUBLINGS_MAX = 10;
    private static final long INTERRUPT_CHECK_MS = 50;

    /** For {@link Native#beginWrite}: the isolation of the options. */
    private static final int DEFAULT_ISOLATION = -1;

    private final Path path;
    final Handle handle;

    /** The handles of open tables and transactions. */
    private final Set<Handle> children = Handle.newSet();

    /** The newest exclusive transaction, open or not. */
    private volatile Exclusive exclusive;

    /** The threads that are in a sorted bulk load. */
    private final Set<Thread> loading = ConcurrentHashMap.newKeySet();

    Database(Path path, long raw) {
        this.path = path;
        this.handle = new Handle(this, raw, "database", true, Handle.newSet());
        handle.setChildren(children);
    }

    /**
     * Returns the default options for opening a database.
     *
     * @return the options
     */
    public static DatabaseOptions options() {
        return new DatabaseOptions();
    }

    /**
     * Opens an existing database with the default options.
     *
     * @param path the path of the file
     * @return the open database
     * @throws FulguriteException as {@link DatabaseOptions#open}
     */
    public static Database open(Path path) {
        return options().open(path);
    }

    /**
     * Opens a database with the default options, and creates it if it does not exist.
     *
     * @param path the path of the file
     * @return the open database
     * @throws FulguriteException as {@link DatabaseOptions#open}
     */
    public static Database create(Path path) {
        return options().create(true).open(path);
    }

    /**
     * Returns the path of the database file.
     *
     * @return the absolute path
     */
    public Path path() {
        return Paths.get(path.toString());
    }

    long raw() {
        return handle.raw();
    }

    /** Returns the handle of a table or transaction, which is closed with this database. */
    Handle child(Object owner, long raw, String name, boolean reported) {
        Handle child = new Handle(owner, raw, name, reported, children);
        child.checkParent(handle);
        return child;
    }

    /**
     * Returns the committed value of a key. One call is faster than a transaction for one key; several calls may see
     * different states.
     *
     * @param table the table
     * @param key the key
     * @return a copy of the value, or null if the key does not exist
     */
    public byte[] get(Table table, byte[] key) {
        return Room.get(handle.raw(), table.handle.raw(), key);
    }

    /**
     * Scans a range of committed entries in the order of their keys, on a snapshot of its own. Reaching the end or
     * {@link Cursor#close} releases the snapshot; garbage collection releases that of an abandoned cursor. A range of
     * few entries is read with one native call, which is faster than with a transaction. The cursor cannot seek.
     *
     * @param table the table
     * @param range the range of keys
     * @return a cursor before the first entry
     */
    public Cursor scan(Table table, KeyRange range) {
        handle.raw();
        table.handle.raw();
        return new Cursor(this, null, table, range, false);
    }

    /**
     * Begins a read transaction: a snapshot of everything committed so far.
     *
     * @return the transaction; close it
     */
    public ReadTransaction beginRead() {
        return new ReadTransaction(this, Native.beginRead(handle.raw(), false), true);
    }

    /**
     * Begins a read transaction like {@link #beginRead}. If it is garbage-collected before it is closed, it is closed
     * without a warning. It is for iterators whose users may abandon them.
     *
     * @return the transaction; close it if you can
     */
    public ReadTransaction beginAbandonableRead() {
        return new ReadTransaction(this, Native.beginRead(handle.raw(), false), false);
    }

    /**
     * Begins a read transaction that sees only durable commits: those that survive a power cut.
     *
     * @return the transaction; close it
     */
    public ReadTransaction beginDurableRead() {
        return new ReadTransaction(this, Native.beginRead(handle.raw(), true), true);
    }

    /**
     * Begins a write transaction with the isolation of the options. Waits while an exclusive transaction or a bulk load
     * of another thread is running.
     *
     * @return the transaction; commit or close it
     * @throws IllegalStateException if this thread has begun an exclusive transaction that is open, or is in the
     *     iterator of {@link #bulkLoad}
     * @throws FulguriteException of the kind {@link ErrorKind#STOPPED} if the thread is interrupted during the wait; it
     *     stays interrupted
     */
    public WriteTransaction beginWrite() {
        return begin(DEFAULT_ISOLATION);
    }

    /**
     * Begins a write transaction with the given isolation. It waits as {@link #beginWrite()} does.
     *
     * @param isolation the isolation
     * @return the transaction; commit or close it
     * @throws IllegalStateException as {@link #beginWrite()}
     * @throws FulguriteException as {@link #beginWrite()}
     */
    public WriteTransaction beginWrite(Isolation isolation) {
        return begin(Objects.requireNonNull(isolation, "isolation").ordinal());
    }

    private WriteTransaction begin(int isolation) {
        checkCanWrite();
        while (true) {
            long raw = Native.beginWrite(handle.raw(), isolation, INTERRUPT_CHECK_MS);
            if (raw != 0) {
                return new WriteTransaction(this, raw);
            }
            if (Thread.currentThread().isInterrupted()) {
                throw Exceptions.of(
                        ErrorKind.STOPPED,
                        "the thread was interrupted while it waited for an exclusive transaction or bulk load to end");
            }
        }
    }

    /**
     * Begins an exclusive write transaction: no other transaction commits until it ends, so it never conflicts. Until
     * then, this thread must write by this transaction. Other changes of the database on this thread throw {@link
     * IllegalStateException}, because they would wait for ever.
     *
     * <pre>{@code
     * Optional<WriteTransaction> begun = database.beginExclusive(Duration.ofSeconds(10));
     * if (begun.isPresent()) {
     *     try (WriteTransaction txn = begun.get()) {
     *         txn.put(table, key, value);
     *         txn.commit();
     *     }
     * }
     * }</pre>
     *
     * @param timeout how long to wait for another exclusive transaction or a bulk load to end
     * @return the transaction, or nothing if the other one or the load has not ended in time
     * @throws IllegalStateException as {@link #beginWrite()}
     * @throws InterruptedException if this thread is interrupted before the call or during the wait
     */
    public Optional<WriteTransaction> beginExclusive(Duration timeout) throws InterruptedException {
        checkCanWrite();
        long raw = await(timeout, pause -> Native.beginExclusive(handle.raw(), pause), begun -> begun != 0);
        if (raw == 0) {
            return Optional.empty();
        }
        WriteTransaction transaction = new WriteTransaction(this, raw);
        exclusive = new Exclusive(transaction.handle, Thread.currentThread());
        return Optional.of(transaction);
    }

    /** Whether this thread has begun an exclusive transaction that is open. */
    private boolean isExclusive() {
        Exclusive newest = exclusive;
        return newest != null && newest.thread == Thread.currentThread() && newest.transaction.isOpen();
    }

    /** Whether the iterator of a sorted bulk load runs on this thread. */
    private boolean isLoading() {
        return loading.contains(Thread.currentThread());
    }

    /** Throws if this thread would wait for its own bulk load. */
    void checkNotLoading() {
        if (isLoading()) {
            throw new IllegalStateException(
                    "this thread is in a bulk load; its iterator must not change, checkpoint or close the database");
        }
    }

    /** Throws if this thread would wait for its own exclusive transaction or bulk load. */
    private void checkCanWrite() {
        checkNotLoading();
        if (isExclusive()) {
            throw new IllegalStateException(
                    "this thread has an exclusive transaction open; write by it, or commit or close it first");
        }
    }

    /**
     * Runs a function in a read transaction, on the calling thread.
     *
     * @param function the function; it must not keep the transaction
     * @param <T> the type of the result
     * @return the result of the function
     */
    public <T> T read(Function<? super ReadTransaction, ? extends T> function) {
        try (ReadTransaction transaction = beginRead()) {
            return function.apply(transaction);
        }
    }

    /**
     * Runs a function in a write transaction and commits it. If the commit conflicts with another transaction, the
     * function is called again in a new transaction, so it should have no other effects. If the function throws,
     * nothing is committed. Each transaction begins as by {@link #beginWrite()}.
     *
     * @param function the function; it must not keep the transaction
     * @param <T> the type of the result
     * @return the result of the function
     * @throws RetryableException if it still conflicts after 64 attempts
     * @throws FulguriteException as {@link #beginWrite()} and {@link WriteTransaction#commit()}
     */
    public <T> T update(Function<? super WriteTransaction, ? extends T> function) {
        for (int attempt = 0; ; attempt++) {
            try (WriteTransaction transaction = beginWrite()) {
                T result = function.apply(transaction);
                transaction.commit();
                return result;
            } catch (RetryableException conflict) {
                if (attempt + 1 >= UPDATE_ATTEMPTS) {
                    throw conflict;
                }
            }
            pause(attempt);
        }
    }

    /**
     * Does the same as {@link #update}, for functions without a result.
     *
     * @param function the function; it must not keep the transaction
     * @throws RetryableException if it still conflicts after 64 attempts
     * @throws FulguriteException as {@link #update}
     */
    public void write(Consumer<? super WriteTransaction> function) {
        update(transaction -> {
            function.accept(transaction);
            return null;
        });
    }

    /** Waits longer with each attempt, for a random time, so that transactions that conflict do not stay in step. */
    private static void pause(int attempt) {
        long longest = FIRST_PAUSE_NANOS << Math.min(attempt, PAUSE_DOUBLINGS_MAX);
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(longest) + 1);
    }

    /**
     * Creates a table with the default options.
     *
     * @param name the name
     * @return the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_EXISTS} if there is a table of this name
     * @throws IllegalStateException as {@link #beginWrite()}
     */
    public Table createTable(String name) {
        return createTable(name, new TableOptions());
    }

    /**
     * Creates a table. Waits while an exclusive transaction or a bulk load of another thread is running, as all changes
     * of tables do.
     *
     * @param name the name
     * @param options the options
     * @return the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_EXISTS} if there is a table of this name, and of
     *     the kind {@link ErrorKind#INVALID} if an option is not valid
     * @throws IllegalStateException as {@link #beginWrite()}
     */
    public Table createTable(String name, TableOptions options) {
        return create(name, options, false);
    }

    private Table create(String name, TableOptions options, boolean ifAbsent) {
        Table.checkName(name);
        // Opening an existing table does not wait.
        if ((isExclusive() || isLoading()) && !(ifAbsent && tableNames().contains(name))) {
            checkCanWrite();
        }
        long raw = Native.createTable(
                handle.raw(),
                name,
                options.flags(),
                options.align(),
                options.operator(),
                options.function(),
                options.types(),
                ifAbsent);
        return new Table(this, raw, name);
    }

    /**
     * Returns an existing table.
     *
     * @param name the name
     * @return the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_NOT_FOUND} if there is none of this name
     */
    public Table openTable(String name) {
        Table.checkName(name);
        return new Table(this, Native.openTable(handle.raw(), name), name);
    }

    /**
     * Returns a table, and creates it with the default options if it does not exist. An existing table must have them.
     *
     * @param name the name
     * @return the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_MISMATCH} if an existing table has other options
     * @throws IllegalStateException as {@link #beginWrite()}, if the table does not exist
     */
    public Table openOrCreateTable(String name) {
        return openOrCreateTable(name, new TableOptions());
    }

    /**
     * Returns a table, and creates it if it does not exist. An existing table must have the same options.
     *
     * @param name the name
     * @param options the options
     * @return the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_MISMATCH} if an existing table has other options
     * @throws IllegalStateException as {@link #beginWrite()}, if the table does not exist
     */
    public Table openOrCreateTable(String name, TableOptions options) {
        return create(name, options, true);
    }

    /**
     * Drops a table with all its entries. Existing snapshots still see it.
     *
     * @param table the table
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_NOT_FOUND} if it was dropped already
     * @throws IllegalStateException as {@link #beginWrite()}
     */
    public void dropTable(Table table) {
        checkCanWrite();
        Native.dropTable(handle.raw(), table.handle.raw());
    }

    /**
     * Renames a table.
     *
     * @param table the table
     * @param name the new name
     * @return the table by its new name; the old object still works
     * @throws FulguriteException of the kind {@link ErrorKind#TABLE_EXISTS} if another table has the new name, and of
     *     the kind {@link ErrorKind#INVALID} if the new name has half of a surrogate pair
     * @throws IllegalStateException as {@link #beginWrite()}
     */
    public Table renameTable(Table table, String name) {
        Table.checkName(name);
        checkCanWrite();
        return new Table(this, Native.renameTable(handle.raw(), table.handle.raw(), name), name);
    }

    /**
     * Returns the names of all tables, sorted.
     *
     * @return the names
     */
    public List<String> tableNames() {
        return Collections.unmodifiableList(Arrays.asList(Native.tableNames(handle.raw())));
    }

    /**
     * Puts entries into a table. Their keys must be in strictly ascending order, as unsigned bytes. A load is several
     * times faster than transactions, uses constant memory, and is atomic. It is durable when this returns.
     *
     * <p>Commits of other transactions wait until the load ends. So the iterator must not change, checkpoint or close
     * the same database, nor wait for another thread that does. On its thread, such calls throw {@link
     * IllegalStateException}.
     *
     * @param table the table
     * @param entries the entries
     * @return what was loaded
     * @throws FulguriteException of the kind {@link ErrorKind#OUT_OF_ORDER} if a key is not above the one before;
     *     nothing is loaded then
     * @throws IllegalStateException as {@link #beginWrite()}
     * @throws RuntimeException what the iterator throws; nothing is loaded then
     */
    public LoadSummary bulkLoad(Table table, Iterator<? extends Entry> entries) {
        return load(table, entries, true);
    }

    /**
     * Puts entries in any order into a table, as {@link #bulkLoad}. They are sorted in at most 256 MiB of memory, and
     * in temporary files next to the database. If a key occurs more than once, its last value is stored. The iterator
     * is read before other commits wait.
     *
     * @param table the table
     * @param entries the entries
     * @return what was loaded
     * @throws IllegalStateException as {@link #beginWrite()}
     * @throws RuntimeException what the iterator throws; nothing is loaded then
     */
    public LoadSummary bulkLoadUnsorted(Table table, Iterator<? extends Entry> entries) {
        return load(table, entries, false);
    }

    private LoadSummary load(Table table, Iterator<? extends Entry> entries, boolean isSorted) {
        checkCanWrite();
        long[] counts = new long[2];
        EntryBuffer buffer = new EntryBuffer(entries);
        // Unsorted entries are all read before the load begins.
        if (isSorted) {
            loading.add(Thread.currentThread());
        }
        try {
            Native.bulkLoad(handle.raw(), table.handle.raw(), isSorted, buffer, counts);
        } finally {
            if (isSorted) {
                loading.remove(Thread.currentThread());
            }
        }
        return new LoadSummary(counts[0], counts[1]);
    }

    /**
     * Returns the commits after a given one, in order, up to the newest durable one. The database must keep its log:
     * see {@link DatabaseOptions#keepLog}. A consumer stores the sequence of the last commit that it has processed,
     * ideally in the same transaction as its results, and continues after it when it restarts.
     *
     * <pre>{@code
     * long seen = 0;
     * while (database.awaitDurable(seen, Duration.ofSeconds(1)) > seen) {
     *     try (ChangeFeed feed = database.changes(seen)) {
     *         while (feed.hasNext()) {
     *             Commit commit = feed.next();
     *             process(commit.changes());
     *             seen = commit.sequence();
     *         }
     *     }
     * }
     * }</pre>
     *
     * @param after the sequence of the last commit that the consumer has processed, or 0
     * @return the commits; close it
     * @throws FulguriteException of the kind {@link ErrorKind#CHANGES_GONE} if the log begins later: copy the data from
     *     a transaction of {@link #beginDurableRead}, and continue after its {@link Transaction#sequence}
     */
    public ChangeFeed changes(long after) {
        return new ChangeFeed(
                this, feed -> child(feed, Native.openChanges(handle.raw(), after), "change feed", true));
    }

    /**
     * Waits for a durable commit after a given one. Commits that are visible but not durable are made durable.
     *
     * @param after the sequence of a commit, or 0
     * @param timeout how long to wait
     * @return the sequence of the newest durable commit, which is {@code after} if none followed in time
     * @throws InterruptedException if this thread is interrupted
     * @throws FulguriteException of the kind {@link ErrorKind#INVALID} if {@code after} is above the newest commit
     */
    public long awaitDurable(long after, Duration timeout) throws InterruptedException {
        return await(timeout, pause -> Native.waitDurable(handle.raw(), after, pause), durable -> durable > after);
    }

    /**
     * Repeats a native call until its result is the awaited one or the timeout is over, and returns the last result.
     * The argument of the call is how many milliseconds it may wait. Between calls, an interrupt ends the wait.
     */
    private static long await(Duration timeout, LongUnaryOperator call, LongPredicate isAwaited)
            throws InterruptedException {
        long left = millisOf(timeout);
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long pause = Math.min(left, INTERRUPT_CHECK_MS);
            long result = call.applyAsLong(pause);
            left -= pause;
            if (isAwaited.test(result) || left <= 0) {
                return result;
            }
        }
    }

    /** The milliseconds of a duration: 0 for a negative one, at most {@link Long#MAX_VALUE}. */
    static long millisOf(Duration duration) {
        if (duration.isNegative()) {
            return 0;
        }
        boolean fits = duration.compareTo(Duration.ofMillis(Long.MAX_VALUE)) < 0;
        return fits ? duration.toMillis() : Long.MAX_VALUE;
    }

    /**
     * Makes all commits so far durable.
     *
     * @return the sequence of the newest durable commit
     */
    public long sync() {
        return Native.sync(handle.raw());
    }

    /**
     * Merges all commits so far into the file, and frees the log. Readers and writers continue meanwhile.
     *
     * @throws IllegalStateException if this thread is in the iterator of {@link #bulkLoad}
     */
    public void checkpoint() {
        checkNotLoading();
        Native.checkpoint(handle.raw());
    }

    /**
     * Removes unused space from the file. Readers and writers continue meanwhile. Pages of open snapshots stay.
     *
     * @return the number of bytes by which the file shrank
     * @throws IllegalStateException if this thread is in the iterator of {@link #bulkLoad}
     */
    public long compact() {
        checkNotLoading();
        return Native.compact(handle.raw());
    }

    /**
     * Copies the newest committed state to a new file. Readers and writers continue meanwhile.
     *
     * @param copy the path of the copy
     * @throws FulguriteException of the kind {@link ErrorKind#FILE_EXISTS} if there is a file at the path
     */
    public void backup(Path copy) {
        Native.backup(handle.raw(), copy.toAbsolutePath().toString());
    }

    /**
     * Checks every page of the newest checkpoint. Commits after it are not checked. Damage does not throw an exception.
     *
     * @return the report, with all damage
     */
    public CheckReport check() {
        long[] counts = new long[3];
        String[] damages = Native.check(handle.raw(), counts);
        return new CheckReport(counts, damages);
    }

    /**
     * Returns statistics.
     *
     * @return the statistics
     */
    public Stats stats() {
        return new Stats(Native.stats(handle.raw()));
    }

    /**
     * Returns whether the database is open: neither closed nor discarded.
     *
     * @return whether it is open
     */
    public boolean isOpen() {
        return handle.isOpen();
    }

    /**
     * Returns how many transactions of this object are open. A transaction that was abandoned counts until garbage
     * collection closes it. Cursors of {@link #scan} do not count.
     *
     * @return the number of transactions
     */
    public int openTransactions() {
        return (int) children.stream()
                .filter(child -> !child.name().equals(Table.HANDLE_NAME))
                .count();
    }

    /**
     * Closes this object and all its tables, transactions and change feeds, after running calls have returned. If no
     * other object of this process has the database open, this merges all commits into the file, and removes the log
     * except for what {@link DatabaseOptions#keepLog} keeps. A second call does nothing.
     *
     * @throws IllegalStateException if this thread is in the iterator of {@link #bulkLoad}
     */
    @Override
    public void close() {
        long released = released();
        if (released != 0) {
            Native.close(released);
        }
    }

    /**
     * Closes this object as {@link #close} does, for a file that is deleted next: nothing is merged, written or synced.
     * Commits that are not in the file or its log are lost. Waits for a running bulk load. A second call does nothing,
     * and so does {@link #close} after it.
     *
     * @throws IllegalStateException if this thread is in the iterator of {@link #bulkLoad}
     */
    public void discard() {
        long released = released();
        if (released != 0) {
            Native.discard(released);
        }
    }

    /** Releases this object and those that depend on it. Returns its handle, or 0 if that was done before. */
    private long released() {
        checkNotLoading();
        long released = handle.release();
        if (released != 0) {
            for (Handle child : children) {
                child.close();
            }
        }
        return released;
    }

    /** An exclusive transaction, and the thread that has begun it. */
    private static final class Exclusive {
        private final Handle transaction;
        private final Thread thread;

        Exclusive(Handle transaction, Thread thread) {
            this.transaction = transaction;
            this.thread = thread;
        }
    }

    /** What a bulk load has done. */
    public static final class LoadSummary {
        private final long inserted;
        private final long replaced;

        LoadSummary(long inserted, long replaced) {
            this.inserted = inserted;
            this.replaced = replaced;
        }

        /**
         * Returns the number of keys that had no value before.
         *
         * @return the number of new keys
         */
        public long inserted() {
            return inserted;
        }

        /**
         * Returns the number of keys whose value was replaced.
         *
         * @return the number of replaced values
         */
        public long replaced() {
            return replaced;
        }

        @Override
        public String toString() {
            return inserted + " inserted, " + replaced + " replaced";
        }
    }
}
