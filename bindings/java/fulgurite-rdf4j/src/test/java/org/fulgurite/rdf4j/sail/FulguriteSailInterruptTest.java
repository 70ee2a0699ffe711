package org.fulgurite.rdf4j.sail;

import org.eclipse.rdf4j.sail.Sail;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SailInterruptTest}. */
class FulguriteSailInterruptTest extends org.eclipse.rdf4j.testsuite.sail.SailInterruptTest {
    @Override
    protected Sail createSail() {
        return new FulguriteStore();
    }
}
