package org.fulgurite.rdf4j.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.dataset.DatasetRepository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SPARQL11UpdateComplianceTest}. */
class FulguriteSPARQL11UpdateComplianceTest extends org.eclipse.rdf4j.testsuite.query.parser.sparql.manifest.SPARQL11UpdateComplianceTest {
    @Override
    protected Repository newRepository() {
        return new DatasetRepository(new SailRepository(new FulguriteStore()));
    }
}
