package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code RDFStarSupportTest}. */
class ServedRDFStarSupportTest extends org.eclipse.rdf4j.testsuite.repository.RDFStarSupportTest {
    @Override
    protected Repository createRepository() {
        return ServedRepository.empty();
    }
}
