package fulgurite.states;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.samples.LocalFiles;

/** A value for each key in RocksDB, archived and recovered as GeaFlow's store does. */
final class RocksValues<K, V> implements IKVStatefulStore<K, V> {
    private static final String[] FAMILIES = {"default"};

    private final IKVSerializer<K, V> serializer;
    private final LocalFiles files;
    private final Path local;
    private final Path remote;
    private final List<String> sent = new ArrayList<>();
    private RocksClient client;

    RocksValues(Path directory, IKVSerializer<K, V> serializer, LocalFiles files) {
        this.serializer = serializer;
        this.files = files;
        local = directory.resolve("rocksdb");
        remote = directory.resolve("remote");
        client = new RocksClient(local, FAMILIES);
    }

    @Override
    public void init(StoreContext context) {}

    @Override
    public V get(K key) {
        byte[] value = client.get(0, serializer.serializeKey(key));
        return value == null ? null : serializer.deserializeValue(value);
    }

    @Override
    public void put(K key, V value) {
        client.put(0, serializer.serializeKey(key), serializer.serializeValue(value));
    }

    @Override
    public void remove(K key) {
        client.delete(0, serializer.serializeKey(key));
    }

    @Override
    public void flush() {
        client.flush();
    }

    @Override
    public void close() {
        client.close();
    }

    private static org.apache.hadoop.fs.Path path(Path path) {
        return new org.apache.hadoop.fs.Path(path.toString());
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> found = Files.list(directory)) {
            return found.map(path -> path.getFileName().toString()).collect(Collectors.toList());
        }
    }

    /** Sends tables that were not sent before, the other files, and {@code _commit} at the end. */
    @Override
    public void archive(long id) {
        client.flush();
        Path checkpoint = local.resolveSibling("rocksdb_chk" + id);
        client.checkpoint(checkpoint);
        Path meta = remote.resolve("meta." + id);
        try {
            List<String> names = names(checkpoint);
            List<String> tables = names.stream().filter(name -> name.endsWith("sst")).collect(Collectors.toList());
            Files.write(checkpoint.resolve("FILES"), String.join(",", tables).getBytes(StandardCharsets.UTF_8));
            names.add("FILES");
            for (String name : names) {
                if (!tables.contains(name)) {
                    files.copyFromLocalFile(path(checkpoint.resolve(name)), path(meta.resolve(name)));
                } else if (!sent.contains(name)) {
                    sent.add(name);
                    Path to = remote.resolve("datas").resolve(name);
                    files.copyFromLocalFile(path(checkpoint.resolve(name)), path(to));
                }
            }
            Files.createFile(meta.resolve("_commit"));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
        Scratch.delete(checkpoint);
    }

    /** Replaces the local files by those of a checkpoint. */
    @Override
    public void recovery(long id) {
        drop();
        Path meta = remote.resolve("meta." + id);
        try {
            Files.createDirectories(local);
            for (String name : names(meta)) {
                if (!name.equals("_commit") && !name.equals("FILES")) {
                    files.copyToLocalFile(path(meta.resolve(name)), path(local.resolve(name)));
                }
            }
            for (String name : Files.readString(meta.resolve("FILES")).split(",")) {
                files.copyToLocalFile(path(remote.resolve("datas").resolve(name)), path(local.resolve(name)));
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
        client = new RocksClient(local, FAMILIES);
    }

    @Override
    public long recoveryLatest() {
        throw new UnsupportedOperationException("the benchmark names its checkpoints");
    }

    @Override
    public void compact() {
        throw new UnsupportedOperationException("the benchmark does not compact");
    }

    @Override
    public void drop() {
        client.close();
        Scratch.delete(local);
    }
}
