package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.GraphQueryResultTest;

/** RDF4J's {@code GraphQueryResultTest}, evaluated by the store. */
class StoreEngineGraphQueryResultTest extends GraphQueryResultTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
