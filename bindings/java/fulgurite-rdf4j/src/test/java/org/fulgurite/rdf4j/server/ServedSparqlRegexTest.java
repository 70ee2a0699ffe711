package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code SparqlRegexTest}. */
class ServedSparqlRegexTest extends org.eclipse.rdf4j.testsuite.repository.SparqlRegexTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
