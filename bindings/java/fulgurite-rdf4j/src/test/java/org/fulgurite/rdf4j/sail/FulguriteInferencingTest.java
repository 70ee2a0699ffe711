package org.fulgurite.rdf4j.sail;

import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.inferencer.fc.SchemaCachingRDFSInferencer;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code InferencingTest}. */
class FulguriteInferencingTest extends org.eclipse.rdf4j.testsuite.sail.InferencingTest {
    @Override
    protected Sail createSail() {
        return new SchemaCachingRDFSInferencer(new FulguriteStore());
    }
}
