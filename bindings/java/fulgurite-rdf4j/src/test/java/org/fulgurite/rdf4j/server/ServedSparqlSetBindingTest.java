package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code SparqlSetBindingTest}. */
class ServedSparqlSetBindingTest extends org.eclipse.rdf4j.testsuite.repository.SparqlSetBindingTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
