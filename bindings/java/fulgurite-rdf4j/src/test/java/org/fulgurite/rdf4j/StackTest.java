package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.StringReader;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.sail.inferencer.fc.SchemaCachingRDFSInferencer;
import org.eclipse.rdf4j.sail.lucene.LuceneSail;
import org.eclipse.rdf4j.sail.shacl.ShaclSail;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** RDF4J's Sails above a store. */
class StackTest {
    private static final String PREFIXES = "@prefix : <http://example.org/> .\n"
            + "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
            + "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
            + "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n";

    @TempDir
    Path directory;

    private FulguriteStore store() {
        return new FulguriteStore(directory.toFile());
    }

    private static void add(RepositoryConnection connection, String turtle) throws Exception {
        connection.add(new StringReader(PREFIXES + turtle), RDFFormat.TURTLE);
    }

    private static List<BindingSet> query(RepositoryConnection connection, String query) {
        return QueryResults.asList(connection.prepareTupleQuery(query).evaluate());
    }

    @Test
    void anInferencerAddsStatementsThatStayAfterReopening() throws Exception {
        SailRepository repository = new SailRepository(new SchemaCachingRDFSInferencer(store()));
        try (RepositoryConnection connection = repository.getConnection()) {
            add(connection, ":Dog rdfs:subClassOf :Animal . :rex a :Dog .");
        }
        String animals = "SELECT ?x { ?x a <http://example.org/Animal> }";
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(1, query(connection, animals).size());
            assertEquals(2, connection.size());
        }
        repository.shutDown();
        repository = new SailRepository(store());
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(1, query(connection, animals).size());
            var explicitOnly = connection.prepareTupleQuery(animals);
            explicitOnly.setIncludeInferred(false);
            assertEquals(0, QueryResults.asList(explicitOnly.evaluate()).size());
        }
        repository.shutDown();
    }

    @Test
    void shaclRefusesWhatAShapeForbids() throws Exception {
        SailRepository repository = new SailRepository(new ShaclSail(store()));
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            connection.add(
                    new StringReader(PREFIXES
                            + ":Shape a sh:NodeShape ; sh:targetClass :Person ;"
                            + " sh:property [ sh:path :age ; sh:datatype xsd:integer ; sh:maxCount 1 ] ."),
                    RDFFormat.TURTLE,
                    RDF4J.SHACL_SHAPE_GRAPH);
            connection.commit();
            add(connection, ":ann a :Person ; :age 41 .");
            assertThrows(RepositoryException.class, () -> add(connection, ":bob a :Person ; :age \"old\" ."));
            assertThrows(RepositoryException.class, () -> add(connection, ":ann :age 42 ."));
            assertEquals(2, query(connection, "SELECT ?p { <http://example.org/ann> ?p ?o }").size());
            assertEquals(0, query(connection, "SELECT ?p { <http://example.org/bob> ?p ?o }").size());
        }
        repository.shutDown();
    }

    /** Dogs are targets of the shape by their inferred type only: {@code ShaclSail} looks for no subclasses here. */
    @Test
    void shaclAboveAnInferencerChecksInferredStatements() throws Exception {
        ShaclSail shacl = new ShaclSail(new SchemaCachingRDFSInferencer(store()));
        shacl.setRdfsSubClassReasoning(false);
        SailRepository repository = new SailRepository(shacl);
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            connection.add(
                    new StringReader(PREFIXES
                            + ":Shape a sh:NodeShape ; sh:targetClass :Animal ;"
                            + " sh:property [ sh:path :age ; sh:datatype xsd:integer ; sh:maxCount 1 ] ."),
                    RDFFormat.TURTLE,
                    RDF4J.SHACL_SHAPE_GRAPH);
            connection.commit();
            add(connection, ":Dog rdfs:subClassOf :Animal .");
            add(connection, ":rex a :Dog ; :age 3 .");
            assertThrows(RepositoryException.class, () -> add(connection, ":max a :Dog ; :age \"old\" ."));
            assertEquals(1, query(connection, "SELECT ?x { ?x a <http://example.org/Animal> }").size());
            assertEquals(0, query(connection, "SELECT ?p { <http://example.org/max> ?p ?o }").size());
        }
        repository.shutDown();
    }

    @Test
    void luceneAboveAnInferencerFindsTextsOfInferredTypes() throws Exception {
        LuceneSail lucene = new LuceneSail();
        lucene.setParameter(LuceneSail.LUCENE_RAMDIR_KEY, "true");
        lucene.setBaseSail(new SchemaCachingRDFSInferencer(store()));
        SailRepository repository = new SailRepository(lucene);
        try (RepositoryConnection connection = repository.getConnection()) {
            add(connection, ":Dog rdfs:subClassOf :Animal .");
            add(connection, ":rex a :Dog ; rdfs:label \"a quick dog\" . :car rdfs:label \"a quick car\" .");
            List<BindingSet> found = query(
                    connection,
                    "PREFIX search: <http://www.openrdf.org/contrib/lucenesail#>\n"
                            + "SELECT DISTINCT ?x {"
                            + " ?x a <http://example.org/Animal> ; search:matches [ search:query \"quick\" ] }");
            assertEquals(1, found.size());
            assertEquals("http://example.org/rex", found.get(0).getValue("x").stringValue());
        }
        repository.shutDown();
    }

    @Test
    void luceneFindsTexts() throws Exception {
        LuceneSail lucene = new LuceneSail();
        lucene.setParameter(LuceneSail.LUCENE_RAMDIR_KEY, "true");
        lucene.setBaseSail(store());
        SailRepository repository = new SailRepository(lucene);
        try (RepositoryConnection connection = repository.getConnection()) {
            add(connection, ":ann rdfs:label \"a quick brown fox\" . :bob rdfs:label \"a slow dog\" .");
            assertEquals(
                    1,
                    query(
                                    connection,
                                    "PREFIX search: <http://www.openrdf.org/contrib/lucenesail#>\n"
                                            + "SELECT ?x { ?x search:matches [ search:query \"quick\" ] }")
                            .size());
        }
        repository.shutDown();
    }
}
