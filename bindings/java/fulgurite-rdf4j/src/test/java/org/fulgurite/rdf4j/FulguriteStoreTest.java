package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Model;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.LinkedHashModel;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.util.Statements;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.sail.NotifyingSailConnection;
import org.eclipse.rdf4j.sail.SailConnectionListener;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.helpers.AbstractSail;
import org.fulgurite.CheckReport;
import org.fulgurite.Database;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store beyond RDF4J's own suites. */
class FulguriteStoreTest {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI ANN = VALUES.createIRI("http://example.org/ann");
    private static final IRI NAME = VALUES.createIRI("http://example.org/name");
    private static final IRI GRAPH = VALUES.createIRI("http://example.org/graph");

    @TempDir
    Path directory;

    private Repository open() {
        return new SailRepository(new FulguriteStore(directory.toFile()));
    }

    private static Set<Statement> all(RepositoryConnection connection) {
        return new HashSet<>(QueryResults.asList(connection.getStatements(null, null, null, true)));
    }

    private static List<Statement> samples() {
        List<Value> objects = new ArrayList<>(List.of(
                VALUES.createLiteral("a text with \"quotes\", ü, \u0000 and \uD83D\uDE00"),
                VALUES.createLiteral("x".repeat(100_000)),
                VALUES.createLiteral("Haus", "de-AT"),
                VALUES.createLiteral("007", XSD.INTEGER),
                VALUES.createLiteral("-5", XSD.INTEGER),
                VALUES.createLiteral("1e400", XSD.DOUBLE),
                VALUES.createLiteral("not a number", XSD.INT),
                VALUES.createLiteral("2024-02-30T25:00:00", XSD.DATETIME),
                VALUES.createLiteral(true),
                VALUES.createLiteral("", VALUES.createIRI("http://example.org/type")),
                VALUES.createBNode("label-1"),
                VALUES.createTriple(ANN, NAME, VALUES.createTriple(ANN, NAME, VALUES.createLiteral(7))),
                VALUES.createIRI("urn:a b")));
        List<Statement> statements = new ArrayList<>();
        for (Value object : objects) {
            statements.add(VALUES.createStatement(ANN, NAME, object));
            statements.add(VALUES.createStatement(ANN, NAME, object, GRAPH));
            statements.add(VALUES.createStatement(VALUES.createBNode("s"), NAME, object, VALUES.createBNode("g")));
        }
        return statements;
    }

    @Test
    void hasStatementSeesEveryCommit() {
        Repository repository = open();
        try (RepositoryConnection reading = repository.getConnection();
                RepositoryConnection writing = repository.getConnection()) {
            for (int number = 0; number < 100; number++) {
                Value value = VALUES.createLiteral("value " + number);
                assertFalse(reading.hasStatement(ANN, NAME, value, true));
                writing.add(ANN, NAME, value, GRAPH);
                assertTrue(reading.hasStatement(ANN, NAME, value, true));
                assertTrue(reading.hasStatement(null, null, value, false, GRAPH));
                assertFalse(reading.hasStatement(ANN, NAME, value, true, (Resource) null));
                assertFalse(reading.hasStatement(ANN, null, value, true, ANN));
                assertTrue(reading.hasStatement(ANN, NAME, value, true, null, GRAPH));
                writing.remove(ANN, NAME, value);
                assertFalse(reading.hasStatement(ANN, NAME, value, true));
            }
        }
        repository.shutDown();
    }

    @Test
    void listenersAreNotifiedAfterARemovalAndMayAddWhatItRemoved() {
        FulguriteStore store = new FulguriteStore(directory.toFile());
        store.init();
        try (NotifyingSailConnection connection = store.getConnection()) {
            connection.begin();
            Set<Statement> expected = new HashSet<>();
            for (int number = 0; number < 1000; number++) {
                // All together are too large to be kept in memory until listeners are notified.
                Value object = VALUES.createLiteral(number + "x".repeat(2500), "de");
                Resource context = number % 2 == 0 ? GRAPH : null;
                expected.add(Statements.statement(ANN, NAME, object, context));
                connection.addStatement(ANN, NAME, object, context);
            }
            connection.commit();
            List<Statement> removed = new ArrayList<>();
            connection.addConnectionListener(new SailConnectionListener() {
                @Override
                public void statementAdded(Statement statement) {}

                @Override
                public void statementRemoved(Statement statement) {
                    assertFalse(connection.hasStatement(ANN, NAME, statement.getObject(), false));
                    if (removed.isEmpty()) {
                        connection.addStatement(ANN, NAME, statement.getObject(), statement.getContext());
                    }
                    removed.add(statement);
                }
            });
            connection.begin();
            connection.removeStatements(ANN, NAME, null);
            connection.commit();
            assertEquals(1000, removed.size());
            assertEquals(expected, new HashSet<>(removed));
            assertEquals(1, connection.size());
        }
        store.shutDown();
    }

    @Test
    void aBackupHasTheNewestStateAndCompactingMakesTheFileSmaller() throws Exception {
        File first = directory.resolve("first").toFile();
        FulguriteStore store = new FulguriteStore(first);
        Repository repository = new SailRepository(store);
        Path copy = Files.createDirectory(directory.resolve("second")).resolve(FulguriteStore.FILE_NAME);
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(samples());
            store.backup(copy);
            assertThrows(SailException.class, () -> store.backup(copy));
            connection.begin();
            for (int number = 0; number < 3000; number++) {
                connection.add(ANN, NAME, VALUES.createLiteral(number));
            }
            connection.commit();
        }
        // Closing moves the commits from the log to the file.
        repository.shutDown();
        FulguriteStore full = new FulguriteStore(first);
        repository = new SailRepository(full);
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.clear();
            assertTrue(full.compact() > 0);
            assertEquals(0, connection.size());
        }
        repository.shutDown();
        Repository restored = new SailRepository(new FulguriteStore(copy.getParent().toFile()));
        try (RepositoryConnection connection = restored.getConnection()) {
            assertEquals(new HashSet<>(samples()), all(connection));
        }
        restored.shutDown();
    }

    @Test
    void aThresholdWhoseJarIsMissingIsAnErrorAtTheOpening() throws Exception {
        URL[] classes = {FulguriteStore.class.getProtectionDomain().getCodeSource().getLocation()};
        ClassLoader parent = getClass().getClassLoader();
        try (URLClassLoader withoutMapDb = new URLClassLoader(classes, parent) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.contains(".collection.factory.mapdb.")) {
                    throw new ClassNotFoundException(name);
                }
                Class<?> known = findLoadedClass(name);
                boolean isOwn = known == null && name.startsWith("org.fulgurite.rdf4j.");
                return known != null ? known : isOwn ? findClass(name) : super.loadClass(name, resolve);
            }
        }) {
            Class<?> type = withoutMapDb.loadClass(FulguriteStore.class.getName());
            AbstractSail store = (AbstractSail) type.getConstructor(File.class).newInstance(directory.toFile());
            store.setIterationCacheSyncThreshold(1000);
            SailException error = assertThrows(SailException.class, store::init);
            assertTrue(error.getMessage().contains("rdf4j-collection-factory-mapdb3"), error::getMessage);
        }
    }

    @Test
    void everythingIsThereAfterReopening() {
        Set<Statement> expected = new HashSet<>(samples());
        Repository repository = open();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(samples());
            connection.setNamespace("ex", "http://example.org/");
        }
        repository.shutDown();
        repository = open();
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(expected, all(connection));
            assertEquals("http://example.org/", connection.getNamespace("ex"));
            assertEquals(2, QueryResults.asList(connection.getContextIDs()).size());
            assertEquals(expected.size(), connection.size());
            for (Statement statement : expected) {
                assertTrue(connection.hasStatement(statement, true), statement::toString);
            }
            // Literals are returned as they were written.
            Set<String> labels = new HashSet<>();
            all(connection).forEach(statement -> labels.add(statement.getObject().stringValue()));
            assertTrue(labels.contains("007") && labels.contains("1e400"), labels::toString);
        }
        repository.shutDown();
        try (Database database = Database.open(directory.resolve(FulguriteStore.FILE_NAME))) {
            CheckReport report = database.check();
            assertTrue(report.isSound(), () -> report.damages().toString());
        }
    }

    @Test
    void valuesCanBeReadAfterTheirResultIsClosedUntilTheStoreIs() {
        Repository repository = open();
        List<Value> values = new ArrayList<>();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(samples());
            try (TupleQueryResult result =
                    connection.prepareTupleQuery("SELECT ?o { ?s ?p ?o }").evaluate()) {
                for (BindingSet row : result) {
                    values.add(row.getValue("o"));
                }
            }
            connection.clear();
        }
        Set<Value> expected = new HashSet<>();
        samples().forEach(statement -> expected.add(statement.getObject()));
        assertEquals(expected, new HashSet<>(values));
        repository.shutDown();
    }

    @Test
    void whatIsRolledBackLeavesNothing() {
        Repository repository = open();
        try (RepositoryConnection connection = repository.getConnection()) {
            for (IsolationLevels level : IsolationLevels.values()) {
                connection.begin(level);
                connection.add(samples());
                assertEquals(samples().size(), connection.size());
                connection.rollback();
                assertEquals(0, connection.size());
                assertFalse(connection.hasStatement(null, null, null, true));
            }
        }
        repository.shutDown();
    }

    @Test
    void writersOfTheSameNewTermsAllCommitBelowSerializable() throws Exception {
        Repository repository = open();
        int threads = 8;
        int commits = 50;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<?>> writers = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            IRI own = VALUES.createIRI("http://example.org/thread/" + thread);
            writers.add(pool.submit(() -> {
                for (int commit = 0; commit < commits; commit++) {
                    try (RepositoryConnection connection = repository.getConnection()) {
                        IRI shared = VALUES.createIRI("http://example.org/shared/" + commit);
                        connection.begin(IsolationLevels.SNAPSHOT);
                        connection.add(shared, RDF.TYPE, RDFS.RESOURCE);
                        connection.add(own, NAME, shared);
                        connection.commit();
                    }
                }
            }));
        }
        for (Future<?> writer : writers) {
            writer.get();
        }
        pool.shutdown();
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(commits + threads * commits, connection.size());
        }
        repository.shutDown();
    }

    @Test
    void bothWritersOfWhatEachHasReadDoNotCommitAtSerializable() {
        Repository repository = open();
        IRI bob = VALUES.createIRI("http://example.org/bob");
        try (RepositoryConnection first = repository.getConnection();
                RepositoryConnection second = repository.getConnection()) {
            first.begin(IsolationLevels.SERIALIZABLE);
            second.begin(IsolationLevels.SERIALIZABLE);
            assertFalse(first.hasStatement(bob, RDF.TYPE, null, false));
            assertFalse(second.hasStatement(ANN, RDF.TYPE, null, false));
            first.add(ANN, RDF.TYPE, RDFS.RESOURCE);
            second.add(bob, RDF.TYPE, RDFS.RESOURCE);
            first.commit();
            assertThrows(RepositoryException.class, second::commit);
            second.rollback();
            assertEquals(1, first.size());
        }
        repository.shutDown();
    }

    @Test
    void aStatementThatCannotBeStoredIsAnErrorAndChangesNothing() {
        Repository repository = open();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            connection.add(ANN, NAME, VALUES.createLiteral("good"));
            Value half = VALUES.createLiteral("half a pair: \uD83D");
            Exception error = assertThrows(Exception.class, () -> connection.add(ANN, NAME, half));
            assertTrue(error.getMessage().contains("Unicode"), error::getMessage);
            connection.rollback();
            assertEquals(0, connection.size());
        }
        repository.shutDown();
    }

    @Test
    void aTermThatIsNullIsNamedInTheErrorAndChangesNothing() {
        Repository repository = open();
        try (RepositoryConnection connection = repository.getConnection()) {
            Resource none = null;
            Exception error = assertThrows(NullPointerException.class, () -> connection.add(none, NAME, ANN));
            assertTrue(error.getMessage().contains("the subject of a statement"), error::getMessage);
            error = assertThrows(NullPointerException.class, () -> connection.add(ANN, null, ANN));
            assertTrue(error.getMessage().contains("the predicate of a statement"), error::getMessage);
            error = assertThrows(NullPointerException.class, () -> connection.add(ANN, NAME, null, GRAPH));
            assertTrue(error.getMessage().contains("the object of a statement"), error::getMessage);
            assertEquals(0, connection.size());
        }
        repository.shutDown();
    }

    @Test
    void errorsOfOpeningSayWhatIsWrong() throws Exception {
        Files.write(directory.resolve(FulguriteStore.FILE_NAME), new byte[100_000]);
        Repository repository = open();
        RepositoryException error = assertThrows(RepositoryException.class, repository::init);
        assertTrue(error.getMessage().contains(FulguriteStore.FILE_NAME), error::getMessage);
        File file = directory.resolve("file").toFile();
        Files.write(file.toPath(), new byte[1]);
        Repository inFile = new SailRepository(new FulguriteStore(new File(file, "data")));
        assertThrows(RepositoryException.class, inFile::init);
        Repository wrongIndexes = new SailRepository(
                new FulguriteStore(directory.resolve("other").toFile(), new FulguriteStoreConfig("spx")));
        error = assertThrows(RepositoryException.class, wrongIndexes::init);
        assertTrue(error.getMessage().contains("spx"), error::getMessage);
    }

    @Test
    void aTemporaryStoreLeavesNoFile() {
        File[] used = new File[1];
        Repository repository = new SailRepository(new FulguriteStore() {
            @Override
            protected void checkDataDir(File directory, File file) {
                used[0] = directory;
            }
        });
        repository.init();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(samples());
        }
        assertTrue(used[0].isDirectory());
        repository.shutDown();
        assertFalse(used[0].exists());
    }

    @Test
    void aModelOfAllStatementsCanBeWrittenAndReadInSmallSteps() {
        Repository repository = open();
        Model expected = new LinkedHashModel();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            for (int number = 0; number < 20_000; number++) {
                IRI subject = VALUES.createIRI("http://example.org/" + number % 1000);
                Statement statement = VALUES.createStatement(subject, NAME, VALUES.createLiteral("n" + number));
                expected.add(statement);
                connection.add(statement);
            }
            connection.commit();
            assertEquals(new HashSet<>(expected), all(connection));
            connection.begin();
            try (var statements = connection.getStatements(null, NAME, null, false)) {
                // The result is of the state before the removals.
                int read = 0;
                while (statements.hasNext()) {
                    connection.remove(statements.next());
                    read++;
                }
                assertEquals(20_000, read);
            }
            connection.commit();
            assertEquals(0, connection.size());
        }
        repository.shutDown();
    }

    @Test
    void anOpenResultKeepsItsStateWhenOthersCommit() {
        Repository repository = open();
        IRI bob = VALUES.createIRI("http://example.org/bob");
        try (RepositoryConnection first = repository.getConnection();
                RepositoryConnection second = repository.getConnection()) {
            for (IsolationLevels level : IsolationLevels.values()) {
                first.begin(level);
                for (int number = 0; number < 100; number++) {
                    first.add(ANN, NAME, VALUES.createLiteral(number));
                }
                try (var result = first.getStatements(ANN, null, null, false)) {
                    result.next();
                    second.add(bob, NAME, VALUES.createLiteral(level.name()));
                    assertEquals(100, QueryResults.asList(first.getStatements(ANN, null, null, false)).size());
                    int rest = 0;
                    while (result.hasNext()) {
                        result.next();
                        rest++;
                    }
                    assertEquals(99, rest, level::name);
                }
                first.rollback();
            }
            assertEquals(IsolationLevels.values().length, second.size());
        }
        repository.shutDown();
    }

    @Test
    void aClosedStoreIsAnError() {
        FulguriteStore store = new FulguriteStore(directory.toFile());
        store.init();
        StoreView view = store.snapshot();
        store.shutDown();
        assertThrows(ClosedException.class, view::graphs);
    }
}
