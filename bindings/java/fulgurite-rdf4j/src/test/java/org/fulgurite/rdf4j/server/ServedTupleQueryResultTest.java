package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code TupleQueryResultTest}. */
class ServedTupleQueryResultTest extends org.eclipse.rdf4j.testsuite.repository.TupleQueryResultTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
