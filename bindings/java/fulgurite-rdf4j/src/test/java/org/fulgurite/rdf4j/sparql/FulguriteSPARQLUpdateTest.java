package org.fulgurite.rdf4j.sparql;

import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;

/** RDF4J's {@code SPARQLUpdateTest}. */
class FulguriteSPARQLUpdateTest extends org.eclipse.rdf4j.testsuite.query.parser.sparql.SPARQLUpdateTest {
    @Override
    protected Repository newRepository() {
        return new SailRepository(new FulguriteStore());
    }
}
