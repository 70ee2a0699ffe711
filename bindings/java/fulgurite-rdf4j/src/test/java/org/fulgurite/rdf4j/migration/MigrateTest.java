package org.fulgurite.rdf4j.migration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.NotifyingSail;
import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.inferencer.fc.SchemaCachingRDFSInferencer;
import org.eclipse.rdf4j.sail.lmdb.LmdbStore;
import org.eclipse.rdf4j.sail.lmdb.config.LmdbStoreConfig;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.eclipse.rdf4j.sail.nativerdf.NativeStore;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MigrateTest {
    private static final String EX = "http://example.org/";

    @TempDir
    Path directory;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

    private int migrate(String... arguments) {
        out.reset();
        errors.reset();
        return new Migrate(new PrintStream(out, true), new PrintStream(errors, true)).run(arguments);
    }

    private String printed() {
        return out.toString(StandardCharsets.UTF_8) + errors.toString(StandardCharsets.UTF_8);
    }

    private static IRI iri(String name) {
        return Values.iri(EX, name);
    }

    private static void fill(SailRepositoryConnection connection) {
        connection.begin();
        connection.setNamespace("ex", EX);
        for (int number = 0; number < 3000; number++) {
            connection.add(iri("s" + number % 100), iri("p" + number % 7), Values.literal(number));
        }
        connection.add(Values.bnode("b"), iri("p"), Values.literal("Grüße", "de"), iri("g"));
        connection.add(iri("s"), iri("p"), Values.literal("text"), Values.bnode("graph"));
        connection.add(iri("Cat"), RDFS.SUBCLASSOF, iri("Animal"));
        connection.add(iri("tom"), RDF.TYPE, iri("Cat"));
        connection.commit();
    }

    private static Set<Statement> statements(Sail sail, boolean includeInferred) {
        SailRepository repository = new SailRepository(sail);
        try (SailRepositoryConnection connection = repository.getConnection()) {
            Set<Statement> found = new HashSet<>();
            connection.getStatements(null, null, null, includeInferred).forEach(found::add);
            return found;
        } finally {
            repository.shutDown();
        }
    }

    private void copies(NotifyingSail source, Sail again, File from) {
        SailRepository repository = new SailRepository(new SchemaCachingRDFSInferencer(source));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            fill(connection);
        } finally {
            repository.shutDown();
        }
        File target = directory.resolve("target").toFile();
        assertEquals(0, migrate(from.getPath(), target.getPath()), this::printed);
        // The line that docs/guide/rdf4j.md shows.
        String line = "copied and verified 3,004 explicit statements, 269 inferred statements and 1 namespace";
        assertTrue(printed().contains(line), this::printed);
        Set<Statement> all = statements(again, true);
        assertTrue(all.contains(Values.getValueFactory().createStatement(iri("tom"), RDF.TYPE, iri("Animal"))));
        assertEquals(all, statements(new FulguriteStore(target), true));
        assertEquals(3004, statements(new FulguriteStore(target), false).size());

        assertEquals(1, migrate(from.getPath(), target.getPath()));
        assertTrue(printed().contains("the target has statements already"), this::printed);
    }

    @Test
    void aDirectoryOfAnotherStoreIsRefusedUntilItsDataIsCopiedThere() {
        Map<String, Function<File, Sail>> stores =
                Map.of("LmdbStore", LmdbStore::new, "NativeStore", NativeStore::new, "MemoryStore", MemoryStore::new);
        stores.forEach((name, store) -> {
            File place = directory.resolve(name).toFile();
            SailRepository repository = new SailRepository(store.apply(place));
            try (SailRepositoryConnection connection = repository.getConnection()) {
                connection.add(iri("s"), iri("p"), iri("o"));
            } finally {
                repository.shutDown();
            }
            FulguriteStore own = new FulguriteStore(place);
            SailException refused = assertThrows(SailException.class, own::init);
            assertTrue(refused.getMessage().contains(name), refused::getMessage);
            String remedy = name.equals("MemoryStore") ? "Migration" : "fulgurite rdf migrate " + place;
            assertTrue(refused.getMessage().contains(remedy), refused::getMessage);
            assertFalse(new File(place, FulguriteStore.FILE_NAME).exists());
            Set<Statement> old = statements(store.apply(place), false);
            assertEquals(1, old.size());
            if (name.equals("MemoryStore")) {
                return;
            }
            assertTrue(refused.getMessage().contains("the class Migrate,"), refused::getMessage);
            assertEquals(0, migrate(place.getPath(), place.getPath()), this::printed);
            assertEquals(old, statements(new FulguriteStore(place), false));
            assertEquals(old, statements(store.apply(place), false));
        });
    }

    @Test
    void anLmdbStoreIsCopiedAndKeepsItsIndexes() throws Exception {
        File from = directory.resolve("lmdb").toFile();
        LmdbStoreConfig config = new LmdbStoreConfig("spoc,posc,ospc");
        copies(new LmdbStore(from, config), new LmdbStore(from, config), from);
        String properties = Files.readString(from.toPath().resolve("triples/triples.prop"));
        assertTrue(properties.contains("spoc,posc,ospc"), properties);
    }

    @Test
    void theCommandLineCopiesAnLmdbStoreThatIsNotOpen() throws Exception {
        File from = directory.resolve("lmdb").toFile();
        LmdbStoreConfig config = new LmdbStoreConfig("posc,cspo");
        Path to = Files.createDirectory(directory.resolve("target"));
        SailRepository repository = new SailRepository(new SchemaCachingRDFSInferencer(new LmdbStore(from, config)));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            fill(connection);
            assertEquals(4, commandLine("rdf", "migrate", from.getPath(), to.resolve("store.ful").toString()));
            String process = ManagementFactory.getRuntimeMXBean().getName();
            assertTrue(printed().contains("is open in the process " + process), this::printed);
            assertEquals(1, migrate(from.getPath(), to.toString()));
            assertTrue(printed().contains("is open in the process " + process + "; end it"), this::printed);
        } finally {
            repository.shutDown();
        }
        assertEquals(
                0, commandLine("rdf", "migrate", from.getPath(), to.resolve("store.ful").toString()), this::printed);
        // The beginning of the line that docs/guide/rdf4j.md shows.
        String line = "copied and verified 3,004 explicit statements, 269 inferred statements and 1 namespace in ";
        assertTrue(printed().contains(line), this::printed);
        for (boolean includeInferred : new boolean[] {false, true}) {
            assertEquals(
                    statements(new LmdbStore(from, config), includeInferred),
                    statements(new FulguriteStore(to.toFile()), includeInferred));
        }
    }

    /** Runs the program {@code fulgurite}, and returns its exit code. */
    private int commandLine(String... arguments) throws Exception {
        out.reset();
        errors.reset();
        List<String> command = new ArrayList<>(List.of(arguments));
        command.add(0, System.getProperty("fulgurite.program"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        out.write(process.getInputStream().readAllBytes());
        return process.waitFor();
    }

    @Test
    void aNativeStoreIsCopied() {
        File from = directory.resolve("native").toFile();
        copies(new NativeStore(from, "spoc,posc"), new NativeStore(from, "spoc,posc"), from);
    }

    @Test
    void wrongArgumentsAreReported() {
        assertEquals(2, migrate());
        assertTrue(printed().contains("Usage: "), this::printed);
        assertEquals(0, migrate("--help"));
        assertEquals(2, migrate(directory.toString(), "target"));
        assertTrue(printed().contains("is not the data directory"), this::printed);
    }
}
