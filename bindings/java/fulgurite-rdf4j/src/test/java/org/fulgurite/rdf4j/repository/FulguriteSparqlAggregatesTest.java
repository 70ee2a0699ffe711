package org.fulgurite.rdf4j.repository;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SparqlAggregatesTest}. */
class FulguriteSparqlAggregatesTest extends org.eclipse.rdf4j.testsuite.repository.SparqlAggregatesTest {
    @Override
    protected Repository newRepository() {
        return new SailRepository(new FulguriteStore());
    }
}
