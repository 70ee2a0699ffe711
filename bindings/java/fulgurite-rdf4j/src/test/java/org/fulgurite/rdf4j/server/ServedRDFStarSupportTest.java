package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.eclipse.rdf4j.repository.Repository;
import org.junit.jupiter.api.Test;

/** RDF4J's {@code RDFStarSupportTest}. */
class ServedRDFStarSupportTest extends org.eclipse.rdf4j.testsuite.repository.RDFStarSupportTest {
    @Override
    protected Repository createRepository() {
        return ServedRepository.empty();
    }

    /** Must fail: after the refusal it rolls back a transaction that its client has not begun. */
    @Test
    @Override
    public void testAddRDFStarContext() {
        assertThrows(Throwable.class, super::testAddRDFStarContext);
    }

    /** Must fail: a {@code CONSTRUCT} cannot have triples as subjects. */
    @Test
    @Override
    public void testMemoryStore_RDFstar() {
        assertThrows(Throwable.class, super::testMemoryStore_RDFstar);
    }
}
