package org.fulgurite.rdf4j.engine;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.dataset.DatasetRepository;
import org.eclipse.rdf4j.testsuite.query.parser.sparql.manifest.SPARQL11QueryComplianceTest;

/** RDF4J's {@code SPARQL11QueryComplianceTest}, evaluated by the store. */
class StoreEngineSPARQL11QueryComplianceTest extends SPARQL11QueryComplianceTest {
    @Override
    protected Repository newRepository() {
        // The suite queries datasets that the store does not have.
        return new DatasetRepository(StoreEngine.repository());
    }
}
