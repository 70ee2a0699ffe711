package fulgurite.jmh;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.BenchmarkParams;

/** Operations of one thread on records with random keys of 16 bytes and values of 100 bytes. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = {
    "-Xmx2g", "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"})
public class Engines {
    private static final int KEY_BYTES = 16;
    private static final int VALUE_BYTES = 100;
    private static final int MANY = 32;
    private static final int BATCH = 1000;
    private static final int SCANNED = 1000;

    /** The engine. */
    @Param({"fulgurite", "lmdbjava", "rocksdbjni"})
    public String engine;

    /** Records that are loaded first. */
    @Param("1000000")
    public int records;

    private final SplittableRandom random = new SplittableRandom(7);
    private Path directory;
    private Engine store;
    private List<byte[]> values;
    private long nextNew;

    /** Loads the records. */
    @Setup(Level.Trial)
    public void load(BenchmarkParams parameters) throws Exception {
        directory = Files.createTempDirectory(directory(), "jmh");
        store = Engine.open(engine, directory);
        values = new ArrayList<>();
        for (int index = 0; index < BATCH; index++) {
            byte[] value = new byte[VALUE_BYTES];
            random.nextBytes(value);
            values.add(value);
        }
        nextNew = records;
        for (int first = 0; first < records; first += BATCH) {
            store.put(keys(first, BATCH), values);
        }
        store.settle();
        // A snapshot that stays open would keep every page of LMDB that a put replaces.
        if (!name(parameters).equals("put")) {
            store.beginReads();
        }
    }

    /** Removes the store, after the same reads from Rust if it is Fulgurite's. */
    @TearDown(Level.Trial)
    public void remove(BenchmarkParams parameters) throws Exception {
        try {
            store.close();
            if (engine.equals("fulgurite")) {
                Crossing.measure(name(parameters), directory.resolve(FulguriteEngine.FILE), records);
            }
        } finally {
            try (var inside = Files.walk(directory)) {
                inside.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    /** Where stores go. */
    static Path directory() {
        return Path.of(System.getProperty("fulgurite.jmh.directory", "."));
    }

    /** The name of the method that is measured. */
    static String name(BenchmarkParams parameters) {
        String benchmark = parameters.getBenchmark();
        return benchmark.substring(benchmark.lastIndexOf('.') + 1);
    }

    /** The key of a number: spread over all keys. */
    private static byte[] key(long number) {
        long mixed = (number + 1) * 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
        return ByteBuffer.allocate(KEY_BYTES).putLong(mixed ^ mixed >>> 27).putLong(number).array();
    }

    private static List<byte[]> keys(long first, int count) {
        List<byte[]> keys = new ArrayList<>(count);
        for (int index = 0; index < count; index++) {
            keys.add(key(first + index));
        }
        return keys;
    }

    private byte[] stored() {
        return key(random.nextInt(records));
    }

    private static byte[] checked(byte[] value) {
        if (value == null || value.length != VALUE_BYTES) {
            throw new IllegalStateException("a stored record was not found");
        }
        return value;
    }

    /** One stored record. */
    @Benchmark
    public byte[] get() throws Exception {
        return checked(store.get(stored()));
    }

    /** Many stored records in a call; the time is that of one. */
    @Benchmark
    @OperationsPerInvocation(MANY)
    public List<byte[]> getMany() throws Exception {
        List<byte[]> keys = new ArrayList<>(MANY);
        for (int index = 0; index < MANY; index++) {
            keys.add(stored());
        }
        List<byte[]> found = store.getMany(keys);
        checked(found.get(MANY - 1));
        return found;
    }

    /** Records in order; the time is that of one. */
    @Benchmark
    @OperationsPerInvocation(SCANNED)
    public long scan() throws Exception {
        return store.scan(stored(), SCANNED);
    }

    /** A new record in a transaction of its own. */
    @Benchmark
    public void put() throws Exception {
        store.put(key(nextNew++), values.get(0));
    }

    /** New records in a transaction or batch; the time is that of one. */
    @Benchmark
    @OperationsPerInvocation(BATCH)
    public void putBatch() throws Exception {
        store.put(keys(nextNew, BATCH), values);
        nextNew += BATCH;
    }
}
