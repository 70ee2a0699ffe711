package org.fulgurite.geaflow;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.runtime.RemoteStorage;
import org.fulgurite.geaflow.internal.shard.ShardDirectory;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.shard.ShardStore;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.TtlDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a checkpoint that GeaFlow's RocksDB store has archived, and archives the same state with Fulgurite.
 * RocksDB's Java library must be on the class path; it is a dependency of GeaFlow's RocksDB store. {@link
 * RocksdbMigrationCommand} does the same from the command line.
 *
 * <pre>{@code
 * RocksdbMigration.migrate(DataModel.KV, from, to, 12);
 * }</pre>
 *
 * <p>Both contexts have the name, the shard, and the serializer or the schema of the state. Their configurations differ
 * in {@code geaflow.file.persistent.root}, or in another part of the path of checkpoints. RocksDB keeps a list or a map
 * as one value: the serializer in its context is then an {@code IKVSerializer} of keys and whole lists or maps.
 */
public final class RocksdbMigration {
    private static final Logger LOGGER = LoggerFactory.getLogger(RocksdbMigration.class);
    private static final long RECORDS_PER_MESSAGE = 1_000_000;

    private final DataModel model;
    private final ShardStore store;
    private final RemoteStorage remote;
    private final String remoteRoot;
    private final long checkpointId;
    private final Consumer<String> progress;
    private long records;
    private long compared;
    private long entries;

    private RocksdbMigration(
            DataModel model, ShardStore store, StoreContext from, long checkpointId, Consumer<String> progress) {
        this.model = model;
        this.store = store;
        this.checkpointId = checkpointId;
        this.progress = progress;
        remoteRoot = store.remote(from, from.getShardId());
        remote = new RemoteStorage(PersistentIOBuilder.build(from.getConfig()), remoteRoot);
    }

    /**
     * Migrates a checkpoint of a shard. Reads every record again from the new store and compares it, before it archives
     * the checkpoint. If anything fails, nothing is archived. Deletes local files of the new state.
     *
     * @param model the model of the state
     * @param from the context of the state in RocksDB
     * @param to the context of the new state
     * @param checkpointId the id of both checkpoints
     * @return the number of records in RocksDB's checkpoint
     * @throws GeaflowRuntimeException if there is no such checkpoint, it does not fit the model, or reading, comparing
     *     or archiving fails
     */
    public static long migrate(DataModel model, StoreContext from, StoreContext to, long checkpointId) {
        return migrate(
                model,
                from,
                to,
                checkpointId,
                text -> LOGGER.info("{} shard {}: {}", from.getName(), from.getShardId(), text));
    }

    /** Does the same as the other method, but passes messages about the progress to {@code progress}. */
    static long migrate(
            DataModel model, StoreContext from, StoreContext to, long checkpointId, Consumer<String> progress) {
        ShardStore store = (ShardStore) new FulguriteStoreBuilder().getStore(model, to.getConfig());
        RocksdbMigration migration = new RocksdbMigration(model, store, from, checkpointId, progress);
        if (migration.remoteRoot.equals(store.remote(to, to.getShardId()))) {
            throw new GeaflowRuntimeException("the new checkpoint would be beside RocksDB's, in " + migration.remoteRoot
                    + "; give the new state another geaflow.file.persistent.root");
        }
        store.deleteLocalFiles(to);
        store.init(to);
        try {
            store.importFrom(from);
            migration.run();
        } catch (IOException | RocksDBException failed) {
            throw new GeaflowRuntimeException(
                    "cannot migrate checkpoint " + checkpointId + " of " + migration.remoteRoot + ": "
                            + failed.getMessage(),
                    failed);
        } finally {
            store.drop();
        }
        return migration.records;
    }

    private void run() throws IOException, RocksDBException {
        Path directory = Files.createTempDirectory("fulgurite-migration");
        try {
            fetch(directory);
            progress.accept("checkpoint " + checkpointId + " of " + remoteRoot + " was copied; now it is read");
            checkModel(families(directory));
            readAll(directory, this::add);
            progress.accept(records + " records were added; now they are compared");
            if (store.countEntries() != entries) {
                throw new GeaflowRuntimeException("records of " + remoteRoot + " have the same keys: " + entries
                        + " became " + store.countEntries());
            }
            readAll(directory, this::compare);
            store.archive(checkpointId);
            progress.accept(records + " records were compared and archived");
        } finally {
            ShardDirectory.deleteAll(directory);
        }
    }

    /** Copies the files of the checkpoint: those in its own directory, and the tables that it lists. */
    private void fetch(Path directory) throws IOException {
        String meta = "meta." + checkpointId;
        List<String> names = remote.list(meta);
        if (!names.contains("_commit") || !names.contains("FILES")) {
            List<String> others =
                    remote.list("").stream().filter(name -> name.startsWith("meta.")).collect(Collectors.toList());
            throw new GeaflowRuntimeException(remoteRoot + " has no committed checkpoint " + checkpointId
                    + " of RocksDB; there is " + others);
        }
        for (String name : names) {
            if (!name.equals("_commit")) {
                remote.fetch(meta + "/" + name, directory.resolve(name));
            }
        }
        // GeaFlow writes it in the default charset.
        String tables = new String(Files.readAllBytes(directory.resolve("FILES")), Charset.defaultCharset());
        Files.delete(directory.resolve("FILES"));
        for (String table : tables.split(",")) {
            if (!table.isEmpty()) {
                remote.fetch("datas/" + table, directory.resolve(table));
            }
        }
    }

    private static List<String> families(Path directory) throws RocksDBException {
        RocksDB.loadLibrary();
        try (Options options = new Options()) {
            return RocksDB.listColumnFamilies(options, directory.toString()).stream()
                    .map(name -> new String(name, StandardCharsets.UTF_8))
                    .collect(Collectors.toList());
        }
    }

    /** Checks the model: with a wrong one, records could be read without an error, and become other ones. */
    private void checkModel(List<String> families) {
        // A graph without versions that has a partition of the label "index" has no family of all edges.
        boolean hasVersions = families.contains("e") && families.contains("v_index");
        boolean isGraph = families.size() > 1;
        boolean fits;
        switch (model) {
            case STATIC_GRAPH:
                fits = !hasVersions;
                break;
            case DYNAMIC_GRAPH:
                fits = hasVersions;
                break;
            default:
                fits = !isGraph;
        }
        if (!fits) {
            throw new GeaflowRuntimeException("checkpoint " + checkpointId + " of " + remoteRoot
                    + " has the column families " + families + ", so it is not of the model " + model + " but of "
                    + (hasVersions ? "DYNAMIC_GRAPH" : isGraph ? "STATIC_GRAPH" : "KV, KList, KMap or STATIC_GRAPH")
                    + "; nothing was archived");
        }
    }

    private interface Use {
        void record(String family, byte[] key, byte[] value);
    }

    /** Reads all records. GeaFlow's databases have a time after each value, which {@link TtlDB} removes. */
    private static void readAll(Path directory, Use use) throws RocksDBException {
        List<String> names = families(directory);
        List<ColumnFamilyDescriptor> families = names.stream()
                .map(name -> new ColumnFamilyDescriptor(name.getBytes(StandardCharsets.UTF_8)))
                .collect(Collectors.toList());
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        List<Integer> noExpiry = Collections.nCopies(families.size(), 0);
        try (DBOptions options = new DBOptions();
                TtlDB database = TtlDB.open(options, directory.toString(), families, handles, noExpiry, true)) {
            try {
                for (int index = 0; index < handles.size(); index++) {
                    readFamily(database, handles.get(index), names.get(index), use);
                }
            } finally {
                handles.forEach(ColumnFamilyHandle::close);
            }
        } finally {
            families.forEach(family -> family.getOptions().close());
        }
    }

    private static void readFamily(TtlDB database, ColumnFamilyHandle handle, String family, Use use)
            throws RocksDBException {
        try (RocksIterator iterator = database.newIterator(handle)) {
            for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
                use.record(family, iterator.key(), iterator.value());
            }
            iterator.status();
        }
    }

    private void add(String family, byte[] key, byte[] value) {
        List<ShardEntry> made;
        try {
            made = store.imported(family, key, value);
        } catch (RuntimeException failed) {
            throw failed(family, "does not fit the model " + model + ", its schema or its serializer", failed);
        }
        try {
            store.addImported(made);
        } catch (RuntimeException failed) {
            throw failed(family, "could not be written", failed);
        }
        entries += made.size();
        if (++records % RECORDS_PER_MESSAGE == 0) {
            progress.accept(records + " records were added");
        }
    }

    private GeaflowRuntimeException failed(String family, String what, RuntimeException cause) {
        String why = cause instanceof GeaflowRuntimeException ? cause.getMessage() : cause.toString();
        return new GeaflowRuntimeException(
                "record " + (records + 1) + " of checkpoint " + checkpointId + " of " + remoteRoot
                        + ", in the column family " + family + ", " + what + "; nothing was archived: " + why,
                cause);
    }

    private void compare(String family, byte[] key, byte[] value) {
        if (!store.hasRecord(family, key, value)) {
            throw new GeaflowRuntimeException("a record of " + key.length + " bytes in the column family " + family
                    + " of " + remoteRoot + " is not in the new store as it was; nothing was archived");
        }
        if (++compared % RECORDS_PER_MESSAGE == 0) {
            progress.accept(compared + " of " + records + " records were compared");
        }
    }
}
