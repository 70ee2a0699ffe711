package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.SparqlAggregatesTest;

/** RDF4J's {@code SparqlAggregatesTest}, evaluated by the store. */
class StoreEngineSparqlAggregatesTest extends SparqlAggregatesTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
