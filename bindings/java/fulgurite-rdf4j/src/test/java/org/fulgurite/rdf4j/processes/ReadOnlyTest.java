package org.fulgurite.rdf4j.processes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.UpdateExecutionException;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.NotifyingSailConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.SailReadOnlyException;
import org.eclipse.rdf4j.sail.inferencer.InferencerConnection;
import org.eclipse.rdf4j.sail.inferencer.fc.SchemaCachingRDFSInferencer;
import org.fulgurite.rdf4j.BulkLoad;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A read-only store. */
class ReadOnlyTest {
    private static final IRI ANN = Values.iri("http://example.org/ann");
    private static final IRI NAME = Values.iri("http://example.org/name");
    private static final String TEXT = "a text that is longer than an id";

    @TempDir
    Path directory;

    private FulguriteStore readOnly() {
        return new FulguriteStore(directory.toFile(), new FulguriteStoreConfig().setReadOnly(true));
    }

    /** Creates the store with a statement. */
    private void fill() {
        SailRepository repository = new SailRepository(new FulguriteStore(directory.toFile()));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.add(ANN, NAME, Values.literal(TEXT));
            connection.setNamespace("ex", "http://example.org/");
        }
        repository.shutDown();
    }

    private static long size(SailRepository repository) {
        try (SailRepositoryConnection connection = repository.getConnection()) {
            return connection.size();
        }
    }

    @Test
    void theStateOfTheOpeningIsReadBesideAProcessThatWrites() throws Exception {
        fill();
        try (HolderProcess holder = HolderProcess.start(directory)) {
            SailRepository repository = new SailRepository(readOnly());
            assertEquals(1, size(repository));
            assertFalse(repository.isWritable());
            holder.end();
            assertEquals(1, size(repository));
            repository.shutDown();
            repository.init();
            assertEquals(2, size(repository));
            repository.shutDown();
        }
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void transactionsOfAllLevelsRead(QueryEngine engine) {
        fill();
        FulguriteStoreConfig config = new FulguriteStoreConfig().setReadOnly(true).setQueryEngine(engine);
        SailRepository repository = new SailRepository(new FulguriteStore(directory.toFile(), config));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            for (IsolationLevels level : IsolationLevels.values()) {
                connection.begin(level);
                assertEquals(1, connection.size());
                assertTrue(connection.hasStatement(ANN, NAME, Values.literal(TEXT), false));
                assertEquals(1, QueryResults.asList(connection.getStatements(null, NAME, null)).size());
                assertEquals("http://example.org/", connection.getNamespace("ex"));
                String query = "SELECT ?name { ?person <" + NAME + "> ?name } ORDER BY ?name";
                List<String> names = connection.prepareTupleQuery(query).evaluate().stream()
                        .map(row -> row.getValue("name").stringValue())
                        .collect(Collectors.toList());
                assertEquals(List.of(TEXT), names);
                connection.commit();
            }
        }
        repository.shutDown();
    }

    @Test
    void changesAreRefused() {
        fill();
        FulguriteStore store = readOnly();
        store.init();
        assertFalse(store.isWritable());
        try (NotifyingSailConnection connection = store.getConnection()) {
            for (IsolationLevels level : IsolationLevels.values()) {
                for (Consumer<NotifyingSailConnection> change : List.<Consumer<NotifyingSailConnection>>of(
                        to -> to.addStatement(RDF.NIL, NAME, ANN),
                        to -> to.removeStatements(RDF.NIL, NAME, ANN),
                        NotifyingSailConnection::clear,
                        to -> to.setNamespace("ex", "http://example.com/"),
                        to -> to.removeNamespace("ex"),
                        NotifyingSailConnection::clearNamespaces,
                        to -> ((InferencerConnection) to).addInferredStatement(RDF.NIL, NAME, ANN),
                        to -> ((InferencerConnection) to).removeInferredStatement(RDF.NIL, NAME, ANN),
                        to -> ((InferencerConnection) to).clearInferred())) {
                    connection.begin(level);
                    String message = assertThrows(SailReadOnlyException.class, () -> change.accept(connection))
                            .getMessage();
                    assertTrue(message.contains(directory + " is open read-only; "), message);
                    connection.rollback();
                }
            }
        }
        assertThrows(SailReadOnlyException.class, store::sweep);
        assertThrows(SailReadOnlyException.class, store::compact);
        BulkLoad load = store.bulkLoad().file(directory.resolve("missing.nt"));
        assertThrows(SailReadOnlyException.class, load::run);
        store.backup(directory.resolve("copy"));
        store.shutDown();
        SailRepository unchanged = new SailRepository(readOnly());
        assertEquals(1, size(unchanged));
        unchanged.shutDown();
    }

    @Test
    void changesThroughARepositoryAreRefused() {
        fill();
        SailRepository repository = new SailRepository(readOnly());
        try (SailRepositoryConnection connection = repository.getConnection()) {
            RepositoryException refused =
                    assertThrows(RepositoryException.class, () -> connection.add(RDF.NIL, NAME, ANN));
            assertTrue(refused.getCause() instanceof SailReadOnlyException, refused::toString);
        }
        try (SailRepositoryConnection connection = repository.getConnection()) {
            // The update would change nothing, because no statement matches.
            String update = "DELETE { ?a ?b ?c } WHERE { ?a <" + RDFS.LABEL + "> ?c . ?a ?b ?c }";
            UpdateExecutionException failed = assertThrows(
                    UpdateExecutionException.class,
                    () -> connection.prepareUpdate(update).execute());
            assertTrue(failed.getMessage().contains("is open read-only; "), failed::toString);
            assertEquals(1, connection.size());
        }
        repository.shutDown();
    }

    /** RDF4J continues after an operation that is {@code SILENT} and has thrown an exception. */
    @Test
    void theCommitOfASilentUpdateIsRefused() {
        fill();
        SailRepository repository = new SailRepository(readOnly());
        String update = "CLEAR SILENT ALL";
        try (SailRepositoryConnection connection = repository.getConnection()) {
            assertRefused(() -> connection.prepareUpdate(update).execute());
            assertFalse(connection.isActive());
            connection.begin();
            connection.prepareUpdate(update).execute();
            assertRefused(connection::prepare);
            assertRefused(connection::commit);
            connection.rollback();
            connection.begin();
            connection.prepare();
            connection.prepareUpdate(update).execute();
            assertRefused(connection::commit);
            assertRefused(connection::commit);
            connection.rollback();
            // A transaction after it is not refused.
            connection.begin();
            assertEquals(1, connection.size());
            connection.commit();
        }
        repository.shutDown();
    }

    private static void assertRefused(Executable call) {
        RepositoryException refused = assertThrows(RepositoryException.class, call);
        assertTrue(refused.getCause() instanceof SailReadOnlyException, refused::toString);
    }

    @Test
    void anInferencerReadsWhatItHasInferredBefore() {
        SailRepository repository =
                new SailRepository(new SchemaCachingRDFSInferencer(new FulguriteStore(directory.toFile())));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.add(NAME, RDFS.DOMAIN, RDFS.CLASS);
            connection.add(ANN, NAME, Values.literal(TEXT));
        }
        repository.shutDown();
        repository = new SailRepository(new SchemaCachingRDFSInferencer(readOnly()));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            assertTrue(connection.hasStatement(ANN, RDF.TYPE, RDFS.CLASS, true));
            assertFalse(connection.hasStatement(ANN, RDF.TYPE, RDFS.CLASS, false));
            assertThrows(RepositoryException.class, () -> connection.add(RDF.NIL, NAME, ANN));
        }
        repository.shutDown();
    }

    private static void assertNotOpened(FulguriteStore store, String part) {
        String message = assertThrows(SailException.class, store::init).getMessage();
        assertTrue(message.contains(part), message);
    }

    @Test
    void whatDoesNotExistIsAnErrorAndIsNotCreated() throws Exception {
        assertNotOpened(readOnly(), "has no store.ful to read; name the directory of a store, or create one by ");
        File missing = directory.resolve("missing").toFile();
        FulguriteStoreConfig config = new FulguriteStoreConfig().setReadOnly(true);
        assertNotOpened(new FulguriteStore(missing, config), "missing has no store.ful to read; ");
        assertFalse(missing.exists());
        assertNotOpened(new FulguriteStore(config), "needs a data directory; name one");
        // That of an LmdbStore.
        Files.createFile(Files.createDirectory(directory.resolve("triples")).resolve("data.mdb"));
        assertNotOpened(readOnly(), "has the data of an LmdbStore");
    }
}
