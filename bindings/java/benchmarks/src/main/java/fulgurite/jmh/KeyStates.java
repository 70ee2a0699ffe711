package fulgurite.jmh;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.serializer.IKVSerializer;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.FulguriteStoreBuilder;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Values of GeaFlow's states, by the interface of its stores. Reads see all writes, without a flush. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = "-Xmx2g")
public class KeyStates {
    /** What stores the values. */
    @Param({"fulgurite", "rocksdbjni"})
    public String engine;

    /** Keys, all of which are put first. */
    @Param({"10000", "100000", "1000000"})
    public int keys;

    private final SplittableRandom random = new SplittableRandom(7);
    private Path directory;
    private IKVStatefulStore<String, String> store;
    private long next;

    /** The bytes of texts. */
    static final class Texts implements IKVSerializer<String, String> {
        private static final long serialVersionUID = 1L;

        @Override
        public byte[] serializeKey(String key) {
            return key.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserializeKey(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }

        @Override
        public byte[] serializeValue(String value) {
            return serializeKey(value);
        }

        @Override
        public String deserializeValue(byte[] bytes) {
            return deserializeKey(bytes);
        }
    }

    @SuppressWarnings("unchecked")
    private static IKVStatefulStore<String, String> open(String engine, Configuration configuration) {
        if (engine.equals("rocksdbjni")) {
            return new RocksKeyState<>();
        }
        return (IKVStatefulStore<String, String>) new FulguriteStoreBuilder().getStore(DataModel.KV, configuration);
    }

    /** Puts all keys. */
    @Setup(Level.Trial)
    public void load() throws Exception {
        directory = Files.createTempDirectory(Path.of(System.getProperty("fulgurite.jmh.directory", ".")), "jmh");
        Configuration configuration = new Configuration(Map.of("geaflow.work.path", directory.toString()));
        store = open(engine, configuration);
        store.init(new StoreContext("state").withConfig(configuration).withKeySerializer(new Texts()));
        for (int key = 0; key < keys; key++) {
            store.put("key-" + key, "value-" + key);
        }
    }

    /** Removes the store. */
    @TearDown(Level.Trial)
    public void remove() throws Exception {
        store.close();
        try (var inside = Files.walk(directory)) {
            inside.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }

    private String key() {
        return "key-" + random.nextInt(keys);
    }

    /** A new value for a key. */
    @Benchmark
    public void put() {
        store.put(key(), "value-" + next++);
    }

    /** The value of a key. */
    @Benchmark
    public String get() {
        String value = store.get(key());
        if (value == null) {
            throw new IllegalStateException("a stored value was not found");
        }
        return value;
    }

    /** A value that depends on the one before, as in an aggregation. */
    @Benchmark
    public void update() {
        String key = key();
        store.put(key, "value-" + (store.get(key).length() + next++));
    }
}
