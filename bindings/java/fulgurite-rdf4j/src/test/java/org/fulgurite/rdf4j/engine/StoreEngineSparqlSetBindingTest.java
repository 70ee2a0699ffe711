package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.SparqlSetBindingTest;

/** RDF4J's {@code SparqlSetBindingTest}, evaluated by the store. */
class StoreEngineSparqlSetBindingTest extends SparqlSetBindingTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
