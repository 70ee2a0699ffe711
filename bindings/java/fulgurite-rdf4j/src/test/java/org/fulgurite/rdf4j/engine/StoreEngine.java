package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;

/** Repositories whose queries the store evaluates. */
final class StoreEngine {
    private StoreEngine() {}

    static FulguriteStoreConfig config() {
        return new FulguriteStoreConfig().setQueryEngine(QueryEngine.STORE);
    }

    static SailRepository repository() {
        return new SailRepository(new FulguriteStore(config()));
    }
}
