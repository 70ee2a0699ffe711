package org.fulgurite.rdf4j.repository;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SparqlOrderByTest}. */
class FulguriteSparqlOrderByTest extends org.eclipse.rdf4j.testsuite.repository.SparqlOrderByTest {
    @Override
    protected Repository newRepository() {
        return new SailRepository(new FulguriteStore());
    }
}
