package org.fulgurite.rdf4j.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command-line program reads what RDF4J has written, and RDF4J what the program has written. */
class ProgramTest {
    private static final IRI ADA = Values.iri("http://example.org/ada");
    private static final IRI NAME = Values.iri("http://example.org/name");
    private static final IRI BORN = Values.iri("http://example.org/born");
    private static final IRI GRAPH = Values.iri("http://example.org/graph");

    @TempDir
    Path directory;

    /** Runs a verb of {@code fulgurite rdf} with the file of the store, and returns its output. */
    private String run(String verb, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                ServedRepository.program(), "rdf", verb, directory.resolve(FulguriteStore.FILE_NAME).toString()));
        command.addAll(List.of(arguments));
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertTrue(process.waitFor(1, TimeUnit.MINUTES), command::toString);
        } finally {
            process.destroyForcibly();
        }
        assertEquals(0, process.exitValue(), command::toString);
        return Files.readString(output);
    }

    @Test
    void aFileOfRdf4jIsReadAndChangedByTheProgram() throws Exception {
        Repository repository = new SailRepository(new FulguriteStore(directory.toFile()));
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            connection.setNamespace("ex", "http://example.org/");
            connection.add(ADA, NAME, Values.literal("Ada, Gräfin von Lovelace"));
            connection.add(ADA, BORN, Values.literal("01815", XSD.INTEGER));
            connection.add(ADA, NAME, Values.literal("countess of Lovelace", "en-GB"), GRAPH);
            connection.add(Values.bnode("b1"), NAME, ADA, GRAPH);
            connection.commit();
        }
        repository.shutDown();

        run("check");
        assertEquals(
                "name,born\r\n\"Ada, Gräfin von Lovelace\",01815\r\n",
                run("query", "SELECT ?name ?born { ?s ex:name ?name ; ex:born ?born }", "--format", "csv"));
        assertEquals("true\n", run("query", "ASK { GRAPH ex:graph { ex:ada ex:name 'countess of Lovelace'@en-gb } }"));
        assertEquals("true\n", run("query", "ASK { GRAPH ex:graph { ?b ex:name ex:ada FILTER(isBlank(?b)) } }"));
        assertEquals("false\n", run("query", "ASK { ?b ex:name ex:ada }"));

        run("update", "INSERT DATA { ex:ada ex:born 1816 }");
        repository = new SailRepository(new FulguriteStore(directory.toFile()));
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(5, connection.size());
            assertTrue(connection.hasStatement(ADA, BORN, Values.literal("1816", XSD.INTEGER), false));
            assertEquals("http://example.org/", connection.getNamespace("ex"));
        }
        repository.shutDown();
    }
}
