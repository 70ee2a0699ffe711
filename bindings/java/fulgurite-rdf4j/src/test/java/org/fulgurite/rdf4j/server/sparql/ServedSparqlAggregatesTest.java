package org.fulgurite.rdf4j.server.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.fulgurite.rdf4j.server.ServedRepository;

/** RDF4J's {@code SparqlAggregatesTest}. */
class ServedSparqlAggregatesTest extends org.eclipse.rdf4j.testsuite.repository.SparqlAggregatesTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
