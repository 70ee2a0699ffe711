package org.fulgurite.rdf4j;

import java.nio.file.Path;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test with an empty store of its own, which is open while the test runs. */
abstract class WithStore {
    @TempDir
    Path directory;

    FulguriteStore store;
    SailRepository repository;

    @BeforeEach
    void open() {
        store = new FulguriteStore(directory.resolve("store").toFile());
        repository = new SailRepository(store);
        repository.init();
    }

    @AfterEach
    void close() {
        repository.shutDown();
    }
}
