package fulgurite.bench;

import java.io.File;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.lmdb.LmdbStore;
import org.eclipse.rdf4j.sail.lmdb.config.LmdbStoreConfig;
import org.eclipse.rdf4j.sail.nativerdf.NativeStore;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;

/**
 * An open store with its default settings, except that it has all six orders of subject, predicate and object and does
 * not sync. The system property {@code fulgurite.bench.store} names it.
 */
final class OpenStore implements AutoCloseable {
    private static final String INDEXES = "spoc,sopc,psoc,posc,ospc,opsc";

    final SailRepository repository;

    OpenStore(File directory) {
        repository = new SailRepository(sail(System.getProperty("fulgurite.bench.store", ""), directory));
        repository.init();
    }

    private static Sail sail(String store, File directory) {
        switch (store) {
            case "lmdbstore":
                return new LmdbStore(directory, new LmdbStoreConfig(INDEXES));
            case "nativestore":
                return new NativeStore(directory, INDEXES);
            case "fulgurite-rdf4j":
                return new FulguriteStore(directory, new FulguriteStoreConfig(INDEXES, false));
            case "fulgurite-rdf4j-queries":
                return new FulguriteStore(
                        directory, new FulguriteStoreConfig(INDEXES, false).setQueryEngine(QueryEngine.STORE));
            default:
                throw new IllegalArgumentException("there is no store `" + store + "`");
        }
    }

    /** Loads a file in the store's own way. Returns false if it has none. */
    boolean bulkLoad(File file) {
        Sail sail = repository.getSail();
        if (!(sail instanceof FulguriteStore)) {
            return false;
        }
        ((FulguriteStore) sail).bulkLoad().file(file.toPath()).run();
        return true;
    }

    @Override
    public void close() {
        repository.shutDown();
    }
}
