package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.TupleQueryResultTest;

/** RDF4J's {@code TupleQueryResultTest}, evaluated by the store. */
class StoreEngineTupleQueryResultTest extends TupleQueryResultTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
