package fulgurite.bench;

import java.io.File;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.sail.lmdb.LmdbStore;
import org.eclipse.rdf4j.sail.lmdb.config.LmdbStoreConfig;

/** An open LmdbStore as it comes, but for its indexes: all six orders of subject, predicate and object. */
final class Stock implements AutoCloseable {
    final SailRepository repository;

    Stock(File directory) {
        LmdbStoreConfig config = new LmdbStoreConfig(INDEXES);
        repository = new SailRepository(new LmdbStore(directory, config));
        repository.init();
    }

    @Override
    public void close() {
        repository.shutDown();
    }

    private static final String INDEXES = "spoc,sopc,psoc,posc,ospc,opsc";
}
