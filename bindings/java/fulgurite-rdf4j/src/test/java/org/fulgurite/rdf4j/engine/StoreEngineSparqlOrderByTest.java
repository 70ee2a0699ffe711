package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.SparqlOrderByTest;

/** RDF4J's {@code SparqlOrderByTest}, evaluated by the store. */
class StoreEngineSparqlOrderByTest extends SparqlOrderByTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
