package org.fulgurite.rdf4j.server.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.fulgurite.rdf4j.server.ServedRepository;

/** RDF4J's {@code SparqlDatasetTest}. */
class ServedSparqlDatasetTest extends org.eclipse.rdf4j.testsuite.repository.SparqlDatasetTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
