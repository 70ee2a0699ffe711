package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.SparqlDatasetTest;

/** RDF4J's {@code SparqlDatasetTest}, evaluated by the store. */
class StoreEngineSparqlDatasetTest extends SparqlDatasetTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
