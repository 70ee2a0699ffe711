package org.fulgurite.geaflow.internal.shard;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.config.keys.ExecutionConfigKeys;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.file.FileConfigKeys;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.metrics.common.api.MetricGroup;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.Checkpoints;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.geaflow.internal.errors.EngineErrors;
import org.fulgurite.geaflow.internal.runtime.RemoteStorage;
import org.fulgurite.geaflow.internal.runtime.ShardMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The life of a store: its local file is opened, archived, recovered and dropped. Closing and dropping it again does
 * nothing. A store that was closed or dropped can be recovered, or initialised again.
 */
public abstract class ShardStore implements IStatefulStore {
    private static final Logger LOGGER = LoggerFactory.getLogger(ShardStore.class);

    /** A whole checkpoint that sends less has no warning. */
    private static final long WARNED_BYTES = 1 << 20;

    private final List<String> tables;
    private StoreContext context;
    private StoreSettings settings;
    private RemoteStorage storage;
    private Checkpoints checkpoints;

    /** The shard whose directories these are. GeaFlow sets another one in the context when it scales a job. */
    private int shardId;

    /** Null while the store is closed. */
    private volatile Shard shard;

    /** The directory of the shard that was opened last; null if it was temporary. */
    private Path directory;

    private long recovered;

    /** Whether the open shard was archived or recovered: the next archive should send its changes alone. */
    private boolean hasArchived;

    /**
     * Creates a store whose entries are in these tables.
     *
     * @param tables the names; {@link Shard} takes the places in this list
     */
    protected ShardStore(String... tables) {
        this.tables = Arrays.asList(tables);
    }

    /** The serialiser of the context, as this type. */
    protected static <S> S serializer(StoreContext context, Class<? super S> type) {
        Object found = context.getKeySerializer();
        if (!type.isInstance(found)) {
            throw new GeaflowRuntimeException("the state " + context.getName() + " needs an "
                    + type.getSimpleName() + " as its key serializer, and has "
                    + (found == null ? "none" : found.getClass().getName()));
        }
        @SuppressWarnings("unchecked")
        S serializer = (S) found;
        return serializer;
    }

    @Override
    public synchronized void init(StoreContext storeContext) {
        close();
        Configuration configuration = storeContext.getConfig();
        context = storeContext;
        settings = new StoreSettings(configuration);
        recovered = -1;
        hasArchived = false;
        use(storeContext.getShardId());
        Path local = localDirectory(context, shardId);
        try {
            Shard open = Shard.open(settings, local, tables);
            opened(open);
            if (open.lastingDirectory() == null) {
                open.warnOfReads();
            }
        } catch (FulguriteException refused) {
            String store = "the store " + context.getName() + ", shard " + shardId;
            throw EngineErrors.notOpened(refused, store, local.resolve(Shard.FILE));
        }
    }

    private void opened(Shard open) {
        try {
            open.checkLayout(layout(), classes());
            MetricGroup group = context.getMetricGroup();
            if (group != null && open.lastingDirectory() != null) {
                open.reportTo(new ShardMetrics(group, context.getName(), context.getShardId()));
            } else if (settings.quotaBytes > 0) {
                open.checkSizes();
            }
            useShard(open);
        } catch (RuntimeException refused) {
            open.close();
            throw refused;
        }
        directory = open.lastingDirectory();
        shard = open;
    }

    /** Called with a shard before it is used. */
    protected void useShard(Shard open) {}

    /** What the bytes of entries depend on. A file with other bytes is refused. */
    protected String layout() {
        return tables.get(0);
    }

    /** The classes that make the bytes of entries. A file of other classes is refused. */
    protected String classes() {
        return "serializer " + className(context.getKeySerializer());
    }

    /** The name of the class of an object, without what differs from one process to the next. */
    protected static String className(Object object) {
        if (object == null) {
            return "none";
        }
        Class<?> type = object.getClass();
        if (Proxy.isProxyClass(type)) {
            // Its name has a number that depends on which other proxies there are.
            return Arrays.stream(type.getInterfaces())
                    .map(Class::getName)
                    .collect(Collectors.joining("+", "proxy of ", ""));
        }
        String name = type.getName();
        int generated = name.indexOf("$$");
        return generated < 0 ? name : name.substring(0, generated);
    }

    /** Uses the directories of a shard. */
    private void use(int id) {
        Configuration configuration = context.getConfig();
        shardId = id;
        if (checkpoints != null) {
            checkpoints.close();
        }
        storage = new RemoteStorage(PersistentIOBuilder.build(configuration), remote(context, id));
        checkpoints = new Checkpoints(storage, settings.retained, settings.compressionLevel);
    }

    /** Returns where checkpoints of a shard are. RocksDB's are there too. */
    public final String remote(StoreContext of, int id) {
        Configuration configuration = of.getConfig();
        String root = configuration.getString(FileConfigKeys.ROOT);
        String job = configuration.getString(ExecutionConfigKeys.JOB_APP_NAME);
        // Not a Path: the root may have a scheme.
        return root.replaceFirst("/+$", "") + "/" + remoteDirectory(job, of.getName(), id);
    }

    /**
     * Called before records of RocksDB's store are added.
     *
     * @param from the context of RocksDB's state
     */
    public void importFrom(StoreContext from) {}

    /**
     * Returns what a record of RocksDB's store is in this store.
     *
     * @param family the column family
     * @param key the key
     * @param value the value
     * @return the entries, which may be none
     */
    protected abstract List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value);

    /**
     * Reads a list or map, which RocksDB's store keeps as one value.
     *
     * @param serializer the serializer of RocksDB's state
     * @param value the bytes
     * @return what the value is
     */
    protected static <V> V wholeValue(IKVSerializer<?, V> serializer, byte[] value) {
        V whole = serializer.deserializeValue(value);
        if (whole == null) {
            throw new IllegalArgumentException("a value of " + value.length + " bytes is not what "
                    + serializer.getClass().getName() + " reads; give RocksDB's context the serializer that its state had");
        }
        return whole;
    }

    /** Returns what a record of RocksDB's store becomes in this store. Throws if the record is none of this state. */
    public final List<ShardEntry> imported(String family, byte[] key, byte[] value) {
        return ofRocksdb(family, key, value);
    }

    /** Adds what a record of RocksDB's store becomes. */
    public final void addImported(List<ShardEntry> entries) {
        shard().putAll(entries);
    }

    /** Returns whether a record of RocksDB's store was added, with the same value. */
    public final boolean hasRecord(String family, byte[] key, byte[] value) {
        Shard open = shard();
        return ofRocksdb(family, key, value).stream()
                .allMatch(entry -> Arrays.equals(entry.value, open.get(entry.table, entry.key)));
    }

    /** Deletes the local files of a state that is not open, whatever they are. */
    public final void deleteLocalFiles(StoreContext of) {
        ShardDirectory.deleteIfFree(localDirectory(of, of.getShardId()));
    }

    /** Returns how many entries there are. */
    public final long countEntries() {
        return shard().countEntries();
    }

    /** Where checkpoints of a shard are, below the root of files. */
    protected String remoteDirectory(String job, String name, int id) {
        return String.join("/", job, name, Integer.toString(id));
    }

    private static Path localDirectory(StoreContext of, int id) {
        Configuration configuration = of.getConfig();
        return Paths.get(
                configuration.getString(ExecutionConfigKeys.JOB_WORK_PATH),
                configuration.getString(ExecutionConfigKeys.JOB_APP_NAME),
                of.getName(),
                Integer.toString(id));
    }

    /** The open file. */
    protected final Shard shard() {
        Shard open = shard;
        if (open == null) {
            throw new GeaflowRuntimeException(context == null
                    ? "the store is not initialised; call init"
                    : "the store " + context.getName() + " is closed; call init or recovery");
        }
        return open;
    }

    @Override
    public void flush() {
        shard().flush();
    }

    @Override
    public synchronized void archive(long checkpointId) {
        Shard open = shard();
        try {
            Checkpoints.Report report = open.createCheckpoint(checkpoints, checkpointId);
            LOGGER.info("{} shard {}: checkpoint {}: {}", context.getName(), shardId, checkpointId, report);
            if (report.isWhole() && hasArchived && report.bytesSent() >= WARNED_BYTES) {
                LOGGER.warn("{} shard {}: checkpoint {} is whole again: it sent segments that have changed, {} bytes."
                        + " After 64 small files of changes this is in order; otherwise half of the state has changed, or"
                        + " more than geaflow.store.fulgurite.log.size, {} bytes",
                        context.getName(), shardId, checkpointId, report.bytesSent(), settings.logBytes);
            }
            hasArchived = true;
            if (report.removalFailure() != null) {
                storage.forgetListed();
                LOGGER.warn("{} shard {}: old checkpoints were not removed; the next archive removes them",
                        context.getName(), shardId, report.removalFailure());
            }
        } catch (RuntimeException failed) {
            storage.forgetListed();
            throw failure("archive", checkpointId, failed);
        }
    }

    @Override
    public synchronized void recovery(long checkpointId) {
        checkInitialised();
        Shard open = shard;
        if (open != null && !open.hasFailed() && checkpointId <= recovered) {
            LOGGER.info("{} shard {}: has recovered {} before; recovery of {} is ignored",
                    context.getName(), shardId, recovered, checkpointId);
            return;
        }
        // Before anything is dropped.
        long[] ids = ids();
        if (Arrays.stream(ids).noneMatch(id -> id == checkpointId)) {
            throw new GeaflowRuntimeException("the store " + context.getName() + ", shard " + shardId
                    + ", has no committed checkpoint " + checkpointId + "; it has " + Arrays.toString(ids));
        }
        checkManifest(checkpointId);
        drop();
        int target = context.getShardId();
        try {
            opened(Shard.restore(settings, localDirectory(context, target), tables, checkpoints, checkpointId));
        } catch (RuntimeException failed) {
            throw failure("recover", checkpointId, failed);
        }
        recovered = checkpointId;
        hasArchived = target == shardId;
        if (target != shardId) {
            // Later checkpoints are of this shard.
            use(target);
        }
    }

    /** Other stores of GeaFlow have their checkpoints in the same directories, and commit them in the same way. */
    private void checkManifest(long checkpointId) {
        List<String> found;
        try {
            found = storage.list("meta." + checkpointId);
        } catch (IOException | RuntimeException failed) {
            throw failure("recover", checkpointId, failed);
        }
        if (!found.contains("manifest")) {
            throw new GeaflowRuntimeException("checkpoint " + checkpointId + " of the store " + context.getName()
                    + ", shard " + shardId + ", has no manifest: it is of another store, such as RocksDB's, or damaged;"
                    + " migrate it with RocksdbMigration, or recover another one");
        }
    }

    private void checkInitialised() {
        if (context == null) {
            throw new GeaflowRuntimeException("the store is not initialised; call init");
        }
    }

    private long[] ids() {
        storage.forgetListed();
        try {
            return checkpoints.ids();
        } catch (RuntimeException failed) {
            throw new GeaflowRuntimeException(
                    "cannot list the checkpoints of the store " + context.getName() + ", shard " + shardId + ": "
                            + failed.getMessage(),
                    failed);
        }
    }

    private GeaflowRuntimeException failure(String action, long checkpointId, Exception cause) {
        // It is another shard if GeaFlow scales a job.
        Path file = localDirectory(context, context.getShardId()).resolve(Shard.FILE);
        return new GeaflowRuntimeException(
                "cannot " + action + " checkpoint " + checkpointId + " of the store " + context.getName() + ", shard "
                        + shardId + ": " + EngineErrors.text(cause, file),
                cause);
    }

    @Override
    public synchronized long recoveryLatest() {
        checkInitialised();
        long latest = Arrays.stream(ids()).filter(id -> id > 0).max().orElse(-1);
        if (latest > 0) {
            recovery(latest);
        }
        return latest;
    }

    @Override
    public synchronized void compact() {
        shard().compact();
    }

    @Override
    public synchronized void close() {
        Shard open = shard;
        shard = null;
        if (open != null) {
            open.close();
        }
    }

    @Override
    public synchronized void drop() {
        Shard open = shard;
        shard = null;
        if (open != null) {
            open.abandon();
        }
        if (open == null && directory != null) {
            ShardDirectory.deleteIfFree(directory);
        }
    }
}
