package org.fulgurite.rdf4j.repository;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SparqlRegexTest}. */
class FulguriteSparqlRegexTest extends org.eclipse.rdf4j.testsuite.repository.SparqlRegexTest {
    @Override
    protected Repository newRepository() {
        return new SailRepository(new FulguriteStore());
    }
}
