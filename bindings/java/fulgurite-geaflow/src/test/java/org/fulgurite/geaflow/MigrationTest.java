package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.state.serializer.IKeySerializer;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.api.key.IKListStore;
import org.apache.geaflow.store.api.key.IKMapStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.fulgurite.geaflow.samples.KryoValues;
import org.junit.jupiter.api.Test;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TtlDB;

/** Checkpoints in the form of GeaFlow's RocksDB store, made with RocksDB, become checkpoints of Fulgurite. */
class MigrationTest extends WithJob {
    private static final long ID = 12;
    private static final IGraphKVEncoder<String, String, String> ENCODER = Elements.encoder(Elements.TEXTS, true);

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Writes families of records, and archives them as GeaFlow does. */
    private void archive(Path remote, String[] families, List<List<Tuple<byte[], byte[]>>> records)
            throws IOException, RocksDBException {
        RocksDB.loadLibrary();
        Path local = directory.resolve("rocksdb");
        Path checkpoint = directory.resolve("rocksdb_chk");
        List<ColumnFamilyDescriptor> descriptors = Arrays.stream(families)
                .map(name -> new ColumnFamilyDescriptor(bytes(name)))
                .collect(Collectors.toList());
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (DBOptions options =
                        new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
                TtlDB database = TtlDB.open(
                        options,
                        local.toString(),
                        descriptors,
                        handles,
                        Collections.nCopies(families.length, 1_000_000),
                        false)) {
            for (int family = 0; family < families.length; family++) {
                for (Tuple<byte[], byte[]> record : records.get(family)) {
                    database.put(handles.get(family), record.f0, record.f1);
                }
            }
            Checkpoint.create(database).createCheckpoint(checkpoint.toString());
            handles.forEach(ColumnFamilyHandle::close);
        }
        Path meta = remote.resolve("meta." + ID);
        Files.createDirectories(meta);
        Files.createDirectories(remote.resolve("datas"));
        List<String> tables = new ArrayList<>();
        try (Stream<Path> files = Files.list(checkpoint)) {
            for (Path file : files.collect(Collectors.toList())) {
                String name = file.getFileName().toString();
                boolean isTable = name.endsWith("sst");
                Files.copy(file, isTable ? remote.resolve("datas").resolve(name) : meta.resolve(name));
                if (isTable) {
                    tables.add(name);
                }
            }
        }
        Files.write(meta.resolve("FILES"), bytes(String.join(",", tables)));
        Files.createFile(meta.resolve("_commit"));
    }

    private StoreContext target() {
        configuration.put("geaflow.file.persistent.root", directory.resolve("new root").toString());
        return context(0);
    }

    private static List<Tuple<byte[], byte[]>> values(int count) {
        List<Tuple<byte[], byte[]>> records = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            records.add(Tuple.of(bytes("key " + number), bytes("value " + number)));
        }
        records.add(Tuple.of(new byte[0], new byte[0]));
        return records;
    }

    @Test
    void valuesAreMigrated() throws IOException, RocksDBException {
        archive(remote(0), new String[] {"default"}, Arrays.asList(values(20_000)));
        StoreContext from = context(0);
        assertEquals(20_001, RocksdbMigration.migrate(DataModel.KV, from, target(), ID));
        IKVStatefulStore<String, String> store = values();
        assertEquals(ID, store.recoveryLatest());
        for (int number = 0; number < 20_000; number++) {
            assertEquals("value " + number, store.get("key " + number));
        }
        assertEquals("", store.get(""));
    }

    /** Runs the command. Returns its exit code and what it prints. */
    private String command(String... options) throws IOException {
        Properties properties = new Properties();
        properties.putAll(configuration);
        Path file = directory.resolve("job.properties");
        try (Writer writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
        }
        List<String> arguments = new ArrayList<>(Arrays.asList(
                "--properties", file.toString(), "--state", STATE, "--checkpoint", Long.toString(ID),
                "--to", directory.resolve("new root").toString(), "--key", "java.lang.String",
                "--value", "java.lang.String"));
        arguments.addAll(Arrays.asList(options));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(printed, true, "UTF-8");
        int code = RocksdbMigrationCommand.run(arguments.toArray(new String[0]), out, out);
        return code + ": " + printed.toString("UTF-8");
    }

    @Test
    void theCommandMigratesShardsAndNamesThoseThatAreLeft() throws IOException, RocksDBException {
        archive(remote(0), new String[] {"default"}, Arrays.asList(values(100)));
        String printed = command("--model", "kv", "--shards", "0-2,5");
        assertTrue(printed.startsWith("1: shard 0: checkpoint 12 of "), printed);
        assertTrue(printed.contains("shard 0: 101 records were added; now they are compared"), printed);
        assertTrue(printed.contains("shard 0: 101 records are migrated, all were compared"), printed);
        assertTrue(printed.contains("has no committed checkpoint 12 of RocksDB"), printed);
        assertTrue(printed.contains("run the command again with --shards 1-2,5"), printed);
        configuration.put("geaflow.file.persistent.root", directory.resolve("new root").toString());
        // The test has another serializer of the same bytes.
        configuration.put("geaflow.store.fulgurite.classes.check", "false");
        IKVStatefulStore<String, String> store = values();
        assertEquals(ID, store.recoveryLatest());
        assertEquals("value 99", store.get("key 99"));
    }

    @Test
    void wrongOptionsOfTheCommandAreNamedAndNothingIsRead() throws IOException {
        String[][] wrong = {
            {"there is no option --modell", "--modell", "KV"},
            {"--shards needs a value", "--model", "KV", "--shards"},
            {"--model is missing", "--shards", "0"},
            {"--model is \"KVs\"", "--model", "KVs", "--shards", "0"},
            {"--shards has \"3-1\"", "--model", "KV", "--shards", "0,3-1"},
            {"--shards has \"x\"", "--model", "KV", "--shards", "x"},
            {"--entry is missing", "--model", "KMap", "--shards", "0"},
            {"there is no class no.Such", "--model", "KList", "--shards", "0", "--value", "no.Such"},
            {"is not a java.util.function.Supplier", "--model", "STATIC_GRAPH", "--shards", "0", "--schema",
                "java.lang.String"},
            {"--properties: there is no file nofile", "--model", "KV", "--shards", "0", "--properties", "nofile"},
        };
        for (String[] options : wrong) {
            String printed = command(Arrays.copyOfRange(options, 1, options.length));
            assertTrue(printed.startsWith("2: ") && printed.contains(options[0]), printed);
        }
        assertTrue(command("--help").startsWith("0: Usage: java"));
    }

    /** Reads nothing, and says so as GeaFlow's serializer does. */
    private static final class Unreadable implements IKVSerializer<String, Map<String, String>> {
        private static final long serialVersionUID = 1L;

        @Override
        public byte[] serializeKey(String key) {
            return bytes(key);
        }

        @Override
        public String deserializeKey(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }

        @Override
        public byte[] serializeValue(Map<String, String> value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Map<String, String> deserializeValue(byte[] bytes) {
            return null;
        }
    }

    /** The key serializer of a state of RocksDB, whose files are below the first root. */
    private StoreContext context(int shard, IKeySerializer<?> serializer) {
        Map<String, String> before = new HashMap<>(configuration);
        before.put("geaflow.file.persistent.root", directory.resolve("root").toString());
        return context(shard).withConfig(new Configuration(before)).withKeySerializer(serializer);
    }

    private static <V> List<Tuple<byte[], byte[]>> records(Map<String, V> values) {
        KryoValues<V> serializer = new KryoValues<>();
        List<Tuple<byte[], byte[]>> records = new ArrayList<>();
        values.forEach((key, value) ->
                records.add(Tuple.of(serializer.serializeKey(key), serializer.serializeValue(value))));
        return records;
    }

    @Test
    void listsAreMigratedElementByElement() throws IOException, RocksDBException {
        Map<String, List<String>> lists = new HashMap<>();
        for (int number = 0; number < 300; number++) {
            List<String> list = new ArrayList<>();
            for (int element = 0; element < number % 12; element++) {
                list.add("element " + element % 5 + " of " + number);
            }
            lists.put("key\0" + number, list);
        }
        lists.put("", new ArrayList<>(Arrays.asList("", "\0", "last")));
        archive(remote(0), new String[] {"default"}, Arrays.asList(records(lists)));
        assertEquals(
                301, RocksdbMigration.migrate(DataModel.KList, context(0, new KryoValues<>()), target(), ID));
        IKListStore<String, String> store = lists();
        ((IStatefulStore) store).recovery(ID);
        lists.forEach((key, list) -> assertEquals(list, store.get(key)));
        store.add("", "after the migration");
        assertEquals(Arrays.asList("", "\0", "last", "after the migration"), store.get(""));
    }

    @Test
    void mapsAreMigratedEntryByEntry() throws IOException, RocksDBException {
        Map<String, Map<String, String>> maps = new HashMap<>();
        for (int number = 0; number < 300; number++) {
            Map<String, String> map = new HashMap<>();
            for (int entry = 0; entry < number % 12; entry++) {
                map.put("entry\0" + entry, entry % 3 == 0 ? "" : "value " + entry);
            }
            maps.put("key " + number, map);
        }
        archive(remote(0), new String[] {"default"}, Arrays.asList(records(maps)));
        assertEquals(
                300, RocksdbMigration.migrate(DataModel.KMap, context(0, new KryoValues<>()), target(), ID));
        IKMapStore<String, String, String> store = maps();
        ((IStatefulStore) store).recovery(ID);
        maps.forEach((key, map) -> {
            assertEquals(map, store.get(key));
            assertEquals(Arrays.asList(map.get("entry\0" + 3)), store.get(key, "entry\0" + 3));
        });
    }

    /** A graph of ids that are numbers as text. */
    private static List<Tuple<byte[], byte[]>> vertices() {
        List<Tuple<byte[], byte[]>> records = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            records.add(ENCODER.getVertexEncoder().format(node(number)));
        }
        return records;
    }

    private static Node<String> node(int number) {
        return new Node<>("v" + number, "person", number, "value " + number);
    }

    private static List<Tuple<byte[], byte[]>> edges() {
        List<Tuple<byte[], byte[]>> records = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            for (int target = 0; target < 5; target++) {
                records.add(ENCODER.getEdgeEncoder().format(link(number, target)));
            }
        }
        return records;
    }

    private static Link<String> link(int number, int target) {
        return new Link<>("v" + number, "v" + target, EdgeDirection.OUT, "knows", target, "since " + number);
    }

    private Path remoteOfGraphs() {
        return directory.resolve("root").resolve(STATE).resolve("0");
    }

    private static void check(IStaticGraphStore<String, String, String> store) {
        for (int number = 0; number < 500; number++) {
            String id = "v" + number;
            assertEquals(node(number).toString(), store.getVertex(id, Conditions.none()).toString());
            List<Link<String>> links = new ArrayList<>();
            for (int target = 0; target < 5; target++) {
                links.add(link(number, target));
            }
            assertEquals(links.toString(), store.getEdges(id, Conditions.none()).toString());
        }
    }

    @Test
    void graphsAreMigratedAndCanBePartitioned() throws IOException, RocksDBException {
        archive(remoteOfGraphs(), new String[] {"default", "e"}, Arrays.asList(vertices(), edges()));
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        StoreContext from = context(0);
        assertEquals(3_000, RocksdbMigration.migrate(DataModel.STATIC_GRAPH, from, target(), ID));
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.recovery(ID);
        check(store);
        store.drop();
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "label");
        configuration.put("geaflow.file.persistent.root", directory.resolve("third root").toString());
        assertEquals(3_000, RocksdbMigration.migrate(DataModel.STATIC_GRAPH, from, context(0), ID));
        IStaticGraphStore<String, String, String> second = graph(Elements.TEXTS);
        second.recovery(ID);
        check(second);
    }

    @Test
    void partitionsOfRocksdbAreMigrated() throws IOException, RocksDBException {
        archive(
                remoteOfGraphs(),
                new String[] {"default", "v_person", "e_knows"},
                Arrays.asList(new ArrayList<>(), vertices(), edges()));
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        StoreContext from = context(0);
        assertEquals(3_000, RocksdbMigration.migrate(DataModel.STATIC_GRAPH, from, target(), ID));
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.recovery(ID);
        check(store);
    }

    private static List<Tuple<byte[], byte[]>> inVersion(long version, List<Tuple<byte[], byte[]>> records) {
        return records.stream()
                .map(record -> Tuple.of(
                        ByteBuffer.allocate(Long.BYTES + 2 + record.f0.length)
                                .putLong(Long.MAX_VALUE - version)
                                .put(new byte[] {1, 8})
                                .put(record.f0)
                                .array(),
                        record.f1))
                .collect(Collectors.toList());
    }

    @Test
    void versionsAreMigrated() throws IOException, RocksDBException {
        List<Tuple<byte[], byte[]>> vertices = new ArrayList<>(inVersion(1, vertices()));
        vertices.addAll(inVersion(7, vertices()));
        List<Tuple<byte[], byte[]>> index = Arrays.asList(Tuple.of(bytes("made again"), new byte[0]));
        archive(
                remoteOfGraphs(),
                new String[] {"default", "e", "v_index"},
                Arrays.asList(vertices, inVersion(7, edges()), index));
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        StoreContext from = context(0);
        assertEquals(3_501, RocksdbMigration.migrate(DataModel.DYNAMIC_GRAPH, from, target(), ID));
        IDynamicGraphStore<String, String, String> store = versions(Elements.TEXTS);
        store.recovery(ID);
        assertEquals(Arrays.asList(7L, 1L), store.getAllVersions("v3", DataType.V));
        assertEquals(5, store.getEdges(7, "v3", Conditions.none()).size());
        assertEquals(0, store.getEdges(1, "v3", Conditions.none()).size());
        assertEquals(node(3).toString(), store.getVertex(1, "v3", Conditions.none()).toString());
    }

    /** A checkpoint of a graph with versions was read as one without, and the errors named ids and encoders. */
    @Test
    void anotherModelThanThatOfTheCheckpointIsNamedAndNothingIsArchived() throws IOException, RocksDBException {
        List<Tuple<byte[], byte[]>> index = Arrays.asList(Tuple.of(bytes("made again"), new byte[0]));
        // Without edges, nothing that is read would be an error.
        archive(
                remoteOfGraphs(),
                new String[] {"default", "e", "v_index"},
                Arrays.asList(inVersion(1, vertices()), new ArrayList<>(), index));
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        StoreContext from = context(0);
        StoreContext to = target();
        refused(
                "is not of the model STATIC_GRAPH but of DYNAMIC_GRAPH; nothing was archived",
                DataModel.STATIC_GRAPH, from, to, ID);
        Files.createDirectories(remote(0).getParent());
        Files.move(remoteOfGraphs(), remote(0));
        refused("is not of the model KV but of DYNAMIC_GRAPH", DataModel.KV, from, to, ID);
    }

    @Test
    void aGraphWithoutVersionsIsNotMigratedAsOneWithVersionsNorWithOtherIds() throws IOException, RocksDBException {
        archive(remoteOfGraphs(), new String[] {"default", "e"}, Arrays.asList(vertices(), edges()));
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        StoreContext from = context(0);
        StoreContext to = target();
        refused("is not of the model DYNAMIC_GRAPH but of STATIC_GRAPH", DataModel.DYNAMIC_GRAPH, from, to, ID);
        // The ids are texts. The error of the ids does not name the record.
        GraphKVEncoderFactory.ENCODER.set(Elements.encoder(Elements.NUMBERS, true));
        refused("record 1 of checkpoint 12 of ", DataModel.STATIC_GRAPH, from, to, ID);
        refused("does not fit the model STATIC_GRAPH", DataModel.STATIC_GRAPH, from, to, ID);
    }

    private void refused(String message, DataModel model, StoreContext from, StoreContext to, long id) {
        GeaflowRuntimeException thrown =
                assertThrows(GeaflowRuntimeException.class, () -> RocksdbMigration.migrate(model, from, to, id));
        assertTrue(thrown.getMessage().contains(message), thrown.getMessage());
        assertFalse(Files.exists(directory.resolve("new root")), "something was archived");
    }

    @Test
    void whatCannotBeMigratedIsRefusedAndNothingIsArchived() throws IOException, RocksDBException {
        archive(remote(0), new String[] {"default"}, Arrays.asList(values(2_000)));
        StoreContext from = context(0);
        refused("another geaflow.file.persistent.root", DataModel.KV, from, context(0), ID);
        StoreContext to = target();
        refused("there is [meta.12]", DataModel.KV, from, to, 13);
        // A value is not a list, and the serializer of values reads none.
        refused("record 1 ", DataModel.KList, context(0, new KryoValues<>()), to, ID);
        refused("record 1 ", DataModel.KMap, context(0, new Unreadable()), to, ID);
        refused("needs an IKVSerializer", DataModel.KMap, context(0, null), to, ID);
        // Values are not vertices.
        Files.createDirectories(remoteOfGraphs().getParent());
        Files.move(remote(0), remoteOfGraphs());
        GraphKVEncoderFactory.ENCODER.set(ENCODER);
        refused("record 1 ", DataModel.STATIC_GRAPH, from, to, ID);
        Files.move(remoteOfGraphs(), remote(0));
        Path table;
        try (Stream<Path> tables = Files.list(remote(0).resolve("datas"))) {
            table = tables.findFirst().get();
        }
        byte[] whole = Files.readAllBytes(table);
        byte[] damaged = whole.clone();
        damaged[whole.length / 4] ^= 1;
        Files.write(table, damaged);
        refused("checkpoint 12", DataModel.KV, from, to, ID);
        Files.delete(table);
        refused("checkpoint 12", DataModel.KV, from, to, ID);
    }
}
