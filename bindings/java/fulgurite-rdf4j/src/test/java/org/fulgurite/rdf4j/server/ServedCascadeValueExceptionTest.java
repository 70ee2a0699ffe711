package org.fulgurite.rdf4j.server;

import org.eclipse.rdf4j.repository.Repository;

/** RDF4J's {@code CascadeValueExceptionTest}. */
class ServedCascadeValueExceptionTest extends org.eclipse.rdf4j.testsuite.repository.CascadeValueExceptionTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }
}
