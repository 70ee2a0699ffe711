package org.fulgurite.rdf4j.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.dataset.DatasetRepository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SPARQL12QueryComplianceTest}. */
class FulguriteSPARQL12QueryComplianceTest extends org.eclipse.rdf4j.testsuite.query.parser.sparql.manifest.SPARQL12QueryComplianceTest {
    @Override
    protected Repository newRepository() {
        // The suite queries datasets that the store does not have.
        return new DatasetRepository(new SailRepository(new FulguriteStore()));
    }
}
