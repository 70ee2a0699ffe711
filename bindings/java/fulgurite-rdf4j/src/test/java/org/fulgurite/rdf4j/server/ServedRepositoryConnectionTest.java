package org.fulgurite.rdf4j.server;

import java.io.File;
import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code RepositoryConnectionTest}. */
class ServedRepositoryConnectionTest extends org.eclipse.rdf4j.testsuite.repository.RepositoryConnectionTest {
    @Override
    protected Repository createRepository(File directory) {
        return ServedRepository.empty();
    }
}
