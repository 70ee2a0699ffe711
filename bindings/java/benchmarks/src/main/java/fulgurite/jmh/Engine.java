package fulgurite.jmh;

import java.nio.file.Path;
import java.util.List;

/** The operations that are measured. Keys and values are arrays of Java, as a program has them. */
interface Engine extends AutoCloseable {
    /** The engine of a name, in an empty directory. */
    static Engine open(String name, Path directory) throws Exception {
        switch (name) {
            case "fulgurite":
                return new FulguriteEngine(directory);
            case "lmdbjava":
                return new LmdbEngine(directory);
            case "rocksdbjni":
                return new RocksEngine(directory);
            default:
                throw new IllegalArgumentException("there is no engine " + name);
        }
    }

    /** Puts records in one transaction or batch, which survives the end of the process. */
    void put(List<byte[]> keys, List<byte[]> values) throws Exception;

    /** Puts one record in a transaction of its own, which survives the end of the process. */
    void put(byte[] key, byte[] value) throws Exception;

    /** Ends a load: what follows reads the best state that the engine has. */
    void settle() throws Exception;

    /** Opens what reads use. */
    void beginReads() throws Exception;

    byte[] get(byte[] key) throws Exception;

    List<byte[]> getMany(List<byte[]> keys) throws Exception;

    /** Reads {@code count} records from a key on, and returns the sum of the first bytes of their keys and values. */
    long scan(byte[] from, int count) throws Exception;

    @Override
    void close() throws Exception;
}
