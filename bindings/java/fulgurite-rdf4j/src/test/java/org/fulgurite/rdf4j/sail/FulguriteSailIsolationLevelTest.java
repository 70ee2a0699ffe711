package org.fulgurite.rdf4j.sail;

import org.eclipse.rdf4j.sail.Sail;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SailIsolationLevelTest}. */
class FulguriteSailIsolationLevelTest extends org.eclipse.rdf4j.testsuite.sail.SailIsolationLevelTest {
    @Override
    protected Sail createSail() {
        return new FulguriteStore();
    }
}
