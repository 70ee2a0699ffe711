package org.fulgurite.rdf4j.sail;

import org.eclipse.rdf4j.sail.NotifyingSail;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code RDFNotifyingStoreTest}. */
class FulguriteRDFNotifyingStoreTest extends org.eclipse.rdf4j.testsuite.sail.RDFNotifyingStoreTest {
    @Override
    protected NotifyingSail createSail() {
        return new FulguriteStore();
    }
}
