package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.testsuite.repository.SparqlRegexTest;

/** RDF4J's {@code SparqlRegexTest}, evaluated by the store. */
class StoreEngineSparqlRegexTest extends SparqlRegexTest {
    @Override
    protected Repository newRepository() {
        return StoreEngine.repository();
    }
}
