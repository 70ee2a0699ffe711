package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code RepositoryTest}. */
class ServedRepositoryTest extends org.eclipse.rdf4j.testsuite.repository.RepositoryTest {
    @Override
    protected Repository createRepository() {
        return ServedRepository.empty();
    }
}
