package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code GraphQueryResultTest}. */
class ServedGraphQueryResultTest extends org.eclipse.rdf4j.testsuite.repository.GraphQueryResultTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
