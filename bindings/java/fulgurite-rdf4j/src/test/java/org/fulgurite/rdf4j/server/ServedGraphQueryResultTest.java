package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.eclipse.rdf4j.repository.Repository;
import org.junit.jupiter.api.Test;

/** RDF4J's {@code GraphQueryResultTest}. */
class ServedGraphQueryResultTest extends org.eclipse.rdf4j.testsuite.repository.GraphQueryResultTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }

    /** Must fail: {@code DESCRIBE} returns the statements that have the resource as their subject. */
    @Test
    @Override
    public void testDescribeSingle() {
        assertThrows(Throwable.class, super::testDescribeSingle);
    }

    /** Must fail: as {@link #testDescribeSingle}. */
    @Test
    @Override
    public void testDescribeMultiple() {
        assertThrows(Throwable.class, super::testDescribeMultiple);
    }
}
