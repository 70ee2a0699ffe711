package org.fulgurite.rdf4j.repository;

import java.io.File;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code RepositoryConnectionTest}. */
class FulguriteRepositoryConnectionTest extends org.eclipse.rdf4j.testsuite.repository.RepositoryConnectionTest {
    @Override
    protected Repository createRepository(File directory) {
        return new SailRepository(new FulguriteStore(directory));
    }
}
