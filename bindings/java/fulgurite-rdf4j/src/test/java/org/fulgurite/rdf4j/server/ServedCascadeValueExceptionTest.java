package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.eclipse.rdf4j.repository.Repository;
import org.junit.jupiter.api.Test;

/** RDF4J's {@code CascadeValueExceptionTest}. */
class ServedCascadeValueExceptionTest extends org.eclipse.rdf4j.testsuite.repository.CascadeValueExceptionTest {
    @Override
    protected Repository newRepository() {
        return ServedRepository.empty();
    }

    /** Must fail: a string and a year are different values, and comparing them is no error. */
    @Test
    @Override
    public void testValueExceptionEqualPlain() {
        assertThrows(Throwable.class, super::testValueExceptionEqualPlain);
    }

    /** Must fail: as {@link #testValueExceptionEqualPlain}. */
    @Test
    @Override
    public void testValueExceptionEqualTyped() {
        assertThrows(Throwable.class, super::testValueExceptionEqualTyped);
    }
}
