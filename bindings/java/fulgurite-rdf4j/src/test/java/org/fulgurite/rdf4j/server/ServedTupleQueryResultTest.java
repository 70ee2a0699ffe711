package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.eclipse.rdf4j.repository.Repository;
import org.junit.jupiter.api.Test;

/** RDF4J's {@code TupleQueryResultTest}. */
class ServedTupleQueryResultTest extends org.eclipse.rdf4j.testsuite.repository.TupleQueryResultTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }

    /** Must fail: only a Sail in the same virtual machine knows that a result was not closed. */
    @Test
    @Override
    public void testNotClosingResultThrowsException() {
        assertThrows(Throwable.class, super::testNotClosingResultThrowsException);
    }
}
