package org.fulgurite.rdf4j.repository;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code RepositoryTest}. */
class FulguriteRepositoryTest extends org.eclipse.rdf4j.testsuite.repository.RepositoryTest {
    @Override
    protected Repository createRepository() {
        return new SailRepository(new FulguriteStore());
    }
}
