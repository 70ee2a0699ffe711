package org.fulgurite.rdf4j.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.eclipse.rdf4j.model.Model;
import org.eclipse.rdf4j.model.impl.LinkedHashModel;
import org.eclipse.rdf4j.model.util.Models;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.CONFIG;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.config.ConfigTemplate;
import org.eclipse.rdf4j.repository.config.RepositoryConfig;
import org.eclipse.rdf4j.repository.manager.LocalRepositoryManager;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryConfig;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.Rio;
import org.eclipse.rdf4j.sail.config.DelegatingSailImplConfig;
import org.eclipse.rdf4j.sail.config.SailImplConfig;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The templates of the jar, which RDF4J's Console finds by their names. */
class TemplatesTest {
    @TempDir
    Path directory;

    private static RepositoryConfig render(String name, Map<String, String> values) throws Exception {
        try (InputStream stream = RepositoryConfig.class.getResourceAsStream(name + ".ttl")) {
            String template = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            Model model = Rio.parse(new StringReader(new ConfigTemplate(template).render(values)), RDFFormat.TURTLE);
            return parse(model);
        }
    }

    private static RepositoryConfig parse(Model model) {
        RepositoryConfig config = RepositoryConfig.create(
                model, Models.subject(model.filter(null, RDF.TYPE, CONFIG.Rep.Repository)).orElseThrow());
        config.validate();
        return config;
    }

    private static FulguriteStoreConfig storeOf(RepositoryConfig config) {
        SailImplConfig sail = ((SailRepositoryConfig) config.getRepositoryImplConfig()).getSailImplConfig();
        return (FulguriteStoreConfig)
                (sail instanceof DelegatingSailImplConfig ? ((DelegatingSailImplConfig) sail).getDelegate() : sail);
    }

    @ParameterizedTest
    @ValueSource(strings = {"fulgurite", "fulgurite-rdfs", "fulgurite-shacl", "fulgurite-lucene"})
    void aTemplateMakesARepository(String name) throws Exception {
        RepositoryConfig given = render(
                name, Map.of("Query engine", "store", "Triple indexes (empty: one for every pattern)", "spoc,posc"));
        Model exported = new LinkedHashModel();
        given.export(exported);
        FulguriteStoreConfig again = storeOf(parse(exported));
        assertEquals(QueryEngine.STORE, again.getQueryEngine());
        assertEquals("spoc,posc", again.getTripleIndexes());

        RepositoryConfig defaults = render(name, Map.of());
        assertEquals(name, defaults.getID());
        assertTrue(storeOf(defaults).getForceSync());
        assertEquals("", storeOf(defaults).getTripleIndexes());
        LocalRepositoryManager manager = new LocalRepositoryManager(directory.toFile());
        manager.init();
        manager.addRepositoryConfig(defaults);
        Repository repository = manager.getRepository(name);
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(Values.iri("http://example.org/s"), RDFS.LABEL, Values.literal("text"));
            assertTrue(connection.hasStatement(null, RDFS.LABEL, Values.literal("text"), false));
        }
        manager.shutDown();
        assertTrue(directory.resolve("repositories").resolve(name).toFile().isDirectory());
    }
}
