package org.fulgurite.rdf4j;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.query.algebra.evaluation.EvaluationStrategyFactory;
import org.eclipse.rdf4j.query.algebra.evaluation.federation.FederatedServiceResolver;
import org.eclipse.rdf4j.query.algebra.evaluation.federation.FederatedServiceResolverClient;
import org.eclipse.rdf4j.repository.sparql.federation.SPARQLServiceResolver;
import org.eclipse.rdf4j.sail.NotifyingSailConnection;
import org.eclipse.rdf4j.sail.SailConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.SailReadOnlyException;
import org.eclipse.rdf4j.sail.config.SailConfigException;
import org.eclipse.rdf4j.sail.helpers.AbstractNotifyingSail;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.LockedException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.fulgurite.rdf4j.internal.CommittedTerms;
import org.fulgurite.rdf4j.internal.OtherStore;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.internal.StoreLockedException;
import org.fulgurite.rdf4j.queries.ParsedQueries;
import org.fulgurite.rdf4j.queries.StoreEvaluationStrategyFactory;
import org.fulgurite.rdf4j.values.IriCache;
import org.fulgurite.rdf4j.values.ValueCache;

/**
 * An RDF store in one file, as a Sail of RDF4J.
 *
 * <pre>{@code
 * Repository repository = new SailRepository(new FulguriteStore(new File("data")));
 * try (RepositoryConnection connection = repository.getConnection()) {
 *     connection.add(statements);
 * }
 * repository.shutDown();
 * }</pre>
 *
 * <p>The file is {@code store.ful} in the data directory. It has no maximum size. Threads can share a store; a
 * connection is for one thread at a time. Commits survive a power cut by default ({@link
 * FulguriteStoreConfig#setDurability}).
 *
 * <p>Below {@code SERIALIZABLE}, a transaction whose commit conflicts with another one is repeated. For this, it keeps
 * up to 256 MiB of changes in memory. With more, a conflict throws a {@code SailConflictException}.
 */
public class FulguriteStore extends AbstractNotifyingSail implements FederatedServiceResolverClient {
    /** The name of the file in the data directory. */
    public static final String FILE_NAME = "store.ful";

    /** The factories of RDF4J that its own stores use if none is configured. Configurations often name one of them. */
    private static final Set<String> DEFAULT_STRATEGIES = Set.of(
            "org.eclipse.rdf4j.query.algebra.evaluation.impl.DefaultEvaluationStrategyFactory",
            "org.eclipse.rdf4j.query.algebra.evaluation.impl.StrictEvaluationStrategyFactory");

    private static final int OPTIONS = 15;
    private static final int OPTION_CREATE = 0;
    private static final int OPTION_READ_ONLY = 1;
    private static final int OPTION_CACHE_BYTES = 3;
    private static final int OPTION_DURABILITY = 6;
    private static final int OPTION_CHECKPOINT_MILLIS = 14;
    private static final long OPTION_DEFAULT = Long.MIN_VALUE;

    private final FulguriteStoreConfig config;
    private final ParsedQueries parsedQueries = new ParsedQueries();
    private final Set<Handle> views = Handle.newSet();
    private final Object snapshotLock = new Object();

    /** Connections that are not closed. They are added under the read lock of {@link #initializationLock}. */
    private final Set<SailConnection> connections = ConcurrentHashMap.newKeySet();

    /** The newest state that was read; null if it is not known. Changed under {@link #snapshotLock}. */
    private volatile StoreView snapshot;

    private volatile CommittedTerms committed;
    private volatile IriCache iris;

    private volatile Handle handle;
    private File temporary;
    private EvaluationStrategyFactory strategies;
    private FederatedServiceResolver resolver;
    private SPARQLServiceResolver ownResolver;

    /** Creates a store in a temporary directory, which is removed when the store is shut down. */
    public FulguriteStore() {
        this(new FulguriteStoreConfig());
    }

    /**
     * Creates a store with a configuration. Without {@link #setDataDir} it is in a temporary directory.
     *
     * @param config the configuration
     */
    public FulguriteStore(FulguriteStoreConfig config) {
        this.config = config;
        setSupportedIsolationLevels(IsolationLevels.values());
        setDefaultIsolationLevel(IsolationLevels.SNAPSHOT_READ);
        config.getDefaultQueryEvaluationMode().ifPresent(this::setDefaultQueryEvaluationMode);
        String strategyName = config.getEvaluationStrategyFactoryClassName();
        if (strategyName != null && !DEFAULT_STRATEGIES.contains(strategyName)) {
            setEvaluationStrategyFactory(config.getEvaluationStrategyFactory());
        }
        if (config.getIterationCacheSyncThreshold() > 0) {
            setIterationCacheSyncThreshold(config.getIterationCacheSyncThreshold());
        }
        if (config.getConnectionTimeOut() > 0) {
            setConnectionTimeOut(config.getConnectionTimeOut());
        }
    }

    /**
     * Creates a store in a directory. {@link #init()} opens its file, and creates it if it does not exist.
     *
     * @param dataDir the directory
     */
    public FulguriteStore(File dataDir) {
        this(dataDir, new FulguriteStoreConfig());
    }

    /**
     * Creates a store in a directory, with a configuration. {@link #init()} opens its file. If it does not exist, it is
     * created, unless the configuration is {@linkplain FulguriteStoreConfig#setReadOnly read-only}.
     *
     * @param dataDir the directory
     * @param config the configuration
     */
    public FulguriteStore(File dataDir, FulguriteStoreConfig config) {
        this(config);
        setDataDir(dataDir);
    }

    @Override
    protected void initializeInternal() {
        // Throws an exception if the jar for the threshold is missing.
        new QueryEvaluation(this).collections().get().close();
        File directory = config.isReadOnly() ? existingDirectory() : createdDirectory();
        File file = new File(directory, FILE_NAME);
        checkDataDir(directory, file);
        if (config.isReadOnly() && !file.exists()) {
            throw new SailException("the data directory " + directory + " has no " + FILE_NAME + " to read; name the "
                    + "directory of a store, or create one by opening the directory without readOnly");
        }
        String path = file.getPath();
        try {
            long raw = NativeQuads.openStore(path, nativeOptions(), config.nativeIndexes());
            Handle opened = new Handle(this, raw, "store", true, Handle.newSet());
            opened.setChildren(views);
            beginIds(opened);
            handle = opened;
        } catch (LockedException error) {
            throw new StoreLockedException(path, error);
        } catch (FulguriteException error) {
            throw SailErrors.of(error);
        } catch (SailConfigException error) {
            throw new SailException(error.getMessage(), error);
        }
    }

    private File existingDirectory() {
        File directory = getDataDir();
        if (directory == null) {
            throw new SailException("a read-only store needs a data directory; name one, or leave readOnly out");
        }
        return directory;
    }

    private File createdDirectory() {
        File directory = getDataDir();
        if (directory == null) {
            return createTemporary();
        }
        try {
            Files.createDirectories(directory.toPath());
            return directory;
        } catch (IOException error) {
            throw new SailException(
                    directory.isFile()
                            ? "the data directory " + directory + " is a file; name a directory"
                            : "the data directory " + directory + " cannot be created; check the permissions of the "
                                    + "directories above it, or name another directory",
                    error);
        }
    }

    private long[] nativeOptions() {
        long[] options = new long[OPTIONS];
        Arrays.fill(options, OPTION_DEFAULT);
        if (config.isReadOnly()) {
            options[OPTION_READ_ONLY] = 1;
        } else {
            options[OPTION_CREATE] = 1;
            options[OPTION_DURABILITY] = config.getDurability().ordinal();
            options[OPTION_CHECKPOINT_MILLIS] = TimeUnit.SECONDS.toMillis(config.getCheckpointInterval());
        }
        if (config.getCacheBytes() > 0) {
            options[OPTION_CACHE_BYTES] = config.getCacheBytes();
        }
        return options;
    }

    /** Begins a scope of ids, without values of another scope. */
    private void beginIds(Handle store) {
        ValueCache cache = config.getValueCacheSize() == 0 ? null : new ValueCache(config.getValueCacheSize());
        committed = new CommittedTerms(store, cache);
        iris = new IriCache(committed);
    }

    /**
     * Refuses a data directory that has the data of another store of RDF4J, and none of a Fulgurite store. Override
     * this in a program that copies the data into a new store in the same directory.
     *
     * @param directory the data directory
     * @param file the file of the store in it, which may not exist
     * @throws SailException if the directory is refused
     */
    protected void checkDataDir(File directory, File file) {
        OtherStore.requireNone(directory, file);
    }

    private File createTemporary() {
        try {
            temporary = Files.createTempDirectory("fulgurite").toFile();
            return temporary;
        } catch (IOException error) {
            throw new SailException("no temporary directory can be created", error);
        }
    }

    @Override
    protected void shutDownInternal() {
        // RDF4J has closed them, except for those whose closing was interrupted.
        connections.clear();
        if (handle == null) {
            return;
        }
        forgetSnapshot();
        for (Handle view : views) {
            view.close();
        }
        try {
            // Programs may use the values of results after this.
            committed.unread().readAll();
        } catch (RuntimeException unreadable) {
            // Values that cannot be read throw an exception when they are used.
        } finally {
            closeFile();
        }
    }

    private void closeFile() {
        try {
            SailErrors.run(handle::close);
        } finally {
            handle = null;
            removeTemporary();
            if (ownResolver != null) {
                ownResolver.shutDown();
                ownResolver = null;
            }
        }
    }

    private void removeTemporary() {
        if (temporary == null) {
            return;
        }
        File[] files = temporary.listFiles();
        for (File file : files == null ? new File[0] : files) {
            file.delete();
        }
        temporary.delete();
        temporary = null;
    }

    /**
     * Returns a new bulk load. Add files, then call {@link BulkLoad#run}; the store must be initialized before that.
     *
     * @return the load
     */
    public BulkLoad bulkLoad() {
        return new BulkLoad(this);
    }

    /**
     * Copies the newest committed state to a new file. Readers and writers continue meanwhile. To use the copy, put it
     * into a data directory under the name {@link #FILE_NAME}.
     *
     * @param copy the path of the copy, at which no file may exist
     * @throws SailException if the copy cannot be made
     */
    public void backup(Path copy) {
        SailErrors.run(() -> Native.backup(raw(), copy.toAbsolutePath().toString()));
    }

    /**
     * Removes unused space from the file. Readers and writers continue meanwhile, but commits wait if they write much.
     * Pages that open results and transactions read stay, so close these before. If large values do not fit into free
     * pages, the file may grow to twice its size before it shrinks.
     *
     * @return the number of bytes by which the file shrank
     * @throws SailReadOnlyException if the store is read-only
     * @throws SailException if the file cannot be read or written
     */
    public long compact() {
        SailErrors.run(this::forgetSnapshot);
        return SailErrors.convert(() -> Native.compact(raw()));
    }

    /**
     * Removes values that no statement uses from the file. Later changes and {@link #compact()} reuse their space. All
     * connections and their results must be closed: they have ids of values. RDF4J closes a connection also while
     * results are open. A result that is not closed counts as open until it is garbage-collected.
     *
     * <p>The sweep reads all statements. {@link #getConnection()}, {@link #shutDown()} and other openings of the file
     * in this process wait until it has ended. Bulk loads and exclusive steps of the sweep wait for each other, at most
     * ten minutes.
     *
     * <p>Values of earlier results can still be used. Before the sweep, their texts are read into memory.
     *
     * @return the number of values that were removed
     * @throws SailReadOnlyException if the store is read-only
     * @throws org.eclipse.rdf4j.sail.SailConflictException if the sweep has waited for ten minutes; some values may be
     *     removed
     * @throws SailException if a connection or a result is open, this process has the file open more than once, the
     *     text of a value of an earlier result cannot be read, or the file cannot be read or written; in the last case,
     *     some values may be removed
     */
    public long sweep() {
        requireWritable();
        initializationLock.writeLock().lock();
        try {
            long store = raw();
            requireNoIdsInUse();
            readUnread();
            try {
                return SailErrors.convert(() -> NativeQuads.sweep(store));
            } finally {
                beginIds(handle());
            }
        } finally {
            initializationLock.writeLock().unlock();
        }
    }

    /** Throws an exception if a connection or a result is open. Requires: no connection is opened meanwhile. */
    private void requireNoIdsInUse() {
        int open = connections.size();
        if (open > 0) {
            throw new SailException("connections to the store are open: " + open
                    + "; close them before a sweep, because their results have ids of values");
        }
        SailErrors.run(this::forgetSnapshot);
        // RDF4J closes connections also while their results are open.
        int results = views.size();
        if (results > 0) {
            throw new SailException("results of closed connections are open: " + results
                    + "; close them before a sweep, because they have ids of values");
        }
    }

    /** Reads the texts of values of earlier results. After a sweep, they cannot be read by their ids. */
    private void readUnread() {
        try {
            committed.unread().readAll();
        } catch (RuntimeException error) {
            throw new SailException(
                    "nothing was swept: values of earlier results cannot be read: " + error.getMessage()
                            + "; check the file by `fulgurite rdf check`",
                    error);
        }
    }

    boolean isReadOnly() {
        return config.isReadOnly();
    }

    /** Throws an exception if the store is read-only. */
    void requireWritable() {
        if (isReadOnly()) {
            throw new SailReadOnlyException(
                    "the store in " + getDataDir() + " is open read-only; open it without readOnly to change it");
        }
    }

    long raw() {
        return handle().raw();
    }

    private Handle handle() {
        Handle current = handle;
        if (current == null) {
            throw new SailException("the store is not initialized; call init() first");
        }
        return current;
    }

    /** Returns a view of the newest state. Reads of the same state share a snapshot. */
    StoreView snapshot() {
        synchronized (snapshotLock) {
            if (snapshot != null && !snapshot.isNewest()) {
                forgetSnapshot();
            }
            return openSnapshot().forRead();
        }
    }

    private StoreView openSnapshot() {
        synchronized (snapshotLock) {
            if (snapshot == null) {
                snapshot = StoreView.snapshot(handle(), views, committed);
            }
            return snapshot;
        }
    }

    /** Returns the shared snapshot, for {@link #read}. */
    private StoreView newest() {
        StoreView current = snapshot;
        return current == null ? SailErrors.convert(this::openSnapshot) : current;
    }

    /** A native read of a snapshot. */
    @FunctionalInterface
    interface Read<T> {
        /** Returns null if the snapshot is not of the newest state. */
        T of(StoreView view);
    }

    /** Reads the newest state. The read is repeated while commits make the snapshot outdated. */
    <T> T read(Read<T> read) {
        while (true) {
            StoreView view = newest();
            T result = null;
            try {
                result = read.of(view);
            } catch (ClosedException error) {
                // Another thread has replaced the snapshot, unless the store itself is closed.
                if (!handle().isOpen()) {
                    throw SailErrors.of(error);
                }
            } catch (FulguriteException error) {
                throw SailErrors.of(error);
            }
            if (result != null) {
                return result;
            }
            SailErrors.run(() -> forgetSnapshot(view));
        }
    }

    /** Manages the handle of a result, which is closed with the store. */
    Handle result(Object owner, long raw) {
        Handle result = new Handle(owner, raw, "result", false, views);
        result.checkParent(handle());
        return result;
    }

    boolean usesOwnQueryEngine() {
        return config.getQueryEngine() == QueryEngine.STORE;
    }

    ParsedQueries parsedQueries() {
        return parsedQueries;
    }

    /** The most memory of a query that the store evaluates, in bytes; 0 for no limit. */
    long queryMemory() {
        return config.getQueryMemory();
    }

    IriCache iris() {
        return iris;
    }

    /** The committed terms, which are read without a view. */
    CommittedTerms committedTerms() {
        return committed;
    }

    private void forgetSnapshot(StoreView expected) {
        synchronized (snapshotLock) {
            if (snapshot == expected) {
                forgetSnapshot();
            }
        }
    }

    /** Closes the shared snapshot, when its reads have ended. The file cannot reuse pages of its state before. */
    void forgetSnapshot() {
        synchronized (snapshotLock) {
            if (snapshot != null) {
                snapshot.close();
                snapshot = null;
            }
        }
    }

    StoreView transaction(IsolationLevels level) {
        return StoreView.transaction(handle(), views, committed.scope(), level);
    }

    @Override
    protected NotifyingSailConnection getConnectionInternal() {
        FulguriteStoreConnection connection = new FulguriteStoreConnection(this);
        connections.add(connection);
        return connection;
    }

    /** RDF4J calls this also if the connection's rollback fails. Results of the connection may still be open. */
    @Override
    protected void connectionClosed(SailConnection connection) {
        connections.remove(connection);
        super.connectionClosed(connection);
    }

    @Override
    public boolean isWritable() {
        File directory = getDataDir();
        return !isReadOnly() && (directory == null || directory.canWrite() || !directory.exists());
    }

    @Override
    public ValueFactory getValueFactory() {
        return SimpleValueFactory.getInstance();
    }

    /**
     * Returns the factory of RDF4J's evaluation of queries.
     *
     * @return the factory
     */
    public synchronized EvaluationStrategyFactory getEvaluationStrategyFactory() {
        if (strategies == null) {
            strategies = new StoreEvaluationStrategyFactory(getFederatedServiceResolver());
        }
        return strategies;
    }

    /**
     * Sets the factory of RDF4J's evaluation of queries.
     *
     * @param factory the factory
     */
    public synchronized void setEvaluationStrategyFactory(EvaluationStrategyFactory factory) {
        strategies = factory;
    }

    /**
     * Returns the resolver, which sends {@code SERVICE} clauses to other endpoints.
     *
     * @return the resolver
     */
    public synchronized FederatedServiceResolver getFederatedServiceResolver() {
        if (resolver == null) {
            if (ownResolver == null) {
                ownResolver = new SPARQLServiceResolver();
            }
            setFederatedServiceResolver(ownResolver);
        }
        return resolver;
    }

    @Override
    public synchronized void setFederatedServiceResolver(FederatedServiceResolver newResolver) {
        resolver = newResolver;
        if (strategies instanceof FederatedServiceResolverClient) {
            ((FederatedServiceResolverClient) strategies).setFederatedServiceResolver(newResolver);
        }
    }
}
