package org.fulgurite.rdf4j.migration;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.RDFWriter;
import org.eclipse.rdf4j.rio.Rio;
import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.SailConnection;
import org.eclipse.rdf4j.sail.inferencer.InferencerConnection;
import org.eclipse.rdf4j.sail.lmdb.LmdbStore;
import org.eclipse.rdf4j.sail.lmdb.config.LmdbStoreConfig;
import org.eclipse.rdf4j.sail.nativerdf.NativeStore;

/**
 * Writes the stores in {@code crates/migration/tests/stores}, which the tests of {@code fulgurite rdf migrate} read. The
 * README there says how to run it.
 */
public final class StoreFixture {
    private static final String EX = "http://example.org/";
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI P = iri("p");

    private StoreFixture() {}

    /**
     * Writes a store and what RDF4J exports of it.
     *
     * @param arguments the directory to create, the kind of the store ({@code lmdb} or {@code native}), and its indexes
     * @throws IOException if a file cannot be written
     */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        Files.createDirectories(directory);
        File store = directory.resolve("store").toFile();
        Supplier<Sail> sail = arguments[1].equals("native")
                ? () -> new NativeStore(store, arguments[2])
                : () -> new LmdbStore(store, new LmdbStoreConfig(arguments[2]));
        fill(sail.get());
        addOtherCase(sail.get());
        export(sail.get(), directory);
    }

    private static IRI iri(String name) {
        return VALUES.createIRI(EX, name);
    }

    private static void fill(Sail store) {
        store.init();
        try (SailConnection connection = store.getConnection()) {
            connection.begin(IsolationLevels.NONE);
            connection.setNamespace("ex", EX);
            connection.setNamespace("rdfs", RDFS.NAMESPACE);
            connection.setNamespace("", "http://example.org/vocabulary#");
            connection.setNamespace("größe", "http://example.org/größe/");
            statements(connection);
            connection.commit();

            // Its pages and ids become free, and some are used again.
            connection.begin(IsolationLevels.NONE);
            connection.removeStatements(null, iri("removed"), null);
            connection.commit();
            connection.begin();
            connection.addStatement(iri("late"), P, VALUES.createLiteral("added after others were removed"));
            inferred((InferencerConnection) connection);
            connection.commit();
            // RDF4J 5.2 leaves such inferred statements in all indexes but one.
            connection.begin(IsolationLevels.NONE);
            connection.addStatement(iri("inferredFirst"), P, iri("o"));
            connection.addStatement(iri("inferredOnce"), P, iri("o"));
            connection.commit();
            connection.begin(IsolationLevels.NONE);
            connection.removeStatements(iri("inferredOnce"), P, null);
            connection.commit();
        } finally {
            store.shutDown();
        }
    }

    /** Adds a literal that differs from one only in the case of its tag. A store that is open would take them for one. */
    private static void addOtherCase(Sail store) {
        store.init();
        try (SailConnection connection = store.getConnection()) {
            connection.begin(IsolationLevels.NONE);
            connection.addStatement(iri("literals"), P, VALUES.createLiteral("colour", "en-gb"));
            connection.commit();
        } finally {
            store.shutDown();
        }
    }

    private static void statements(SailConnection connection) {
        IRI[] graphs = {null, iri("g1"), VALUES.createIRI("urn:graph:two")};
        for (int number = 0; number < 300; number++) {
            IRI subject = iri("subject" + number % 40);
            add(connection, subject, iri("p" + number % 7), VALUES.createLiteral(number), graphs[number % 3]);
            connection.addStatement(subject, iri("removed"), VALUES.createLiteral("removed " + number));
        }
        for (Literal literal : literals()) {
            add(connection, iri("literals"), P, literal, null);
        }
        for (IRI iri : iris()) {
            add(connection, iri, RDF.TYPE, RDFS.RESOURCE, null);
            add(connection, iri("iris"), P, iri, iri("g1"));
        }
        Resource blank = VALUES.createBNode("b");
        Resource longBlank = VALUES.createBNode("aBlankNodeWithALabelOfManyCharacters0123456789");
        add(connection, blank, P, longBlank, null);
        add(connection, longBlank, P, blank, iri("g1"));
        // The same triple in several graphs, one of them a blank node.
        for (Resource graph : new Resource[] {null, iri("g1"), VALUES.createIRI("urn:graph:two"), longBlank}) {
            add(connection, iri("s"), P, iri("o"), graph);
        }
    }

    private static void add(SailConnection connection, Resource subject, IRI predicate, Value object, Resource graph) {
        if (graph == null) {
            connection.addStatement(subject, predicate, object);
        } else {
            connection.addStatement(subject, predicate, object, graph);
        }
    }

    private static List<Literal> literals() {
        List<Literal> found = new ArrayList<>();
        // Sixteen bytes with type, datatype and length are the longest value that is its own key.
        for (int length : new int[] {0, 1, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 100, 2000, 2100, 4000, 4096, 70_000}) {
            found.add(VALUES.createLiteral("x".repeat(length)));
            found.add(VALUES.createLiteral("y".repeat(length), "en"));
        }
        found.add(VALUES.createLiteral("Grüße", "de"));
        found.add(VALUES.createLiteral("colour", "en-GB"));
        found.add(VALUES.createLiteral("colour"));
        found.add(VALUES.createLiteral("quote \" backslash \\ newline \n tab \t return \r"));
        found.add(VALUES.createLiteral("\u0001 \u007f \u00e9 \u4e16 \ud83d\ude00"));
        found.add(VALUES.createLiteral("007", XSD.INTEGER));
        found.add(VALUES.createLiteral("7", XSD.INTEGER));
        found.add(VALUES.createLiteral("not a number", XSD.INTEGER));
        found.add(VALUES.createLiteral("1.50", XSD.DECIMAL));
        found.add(VALUES.createLiteral("NaN", XSD.DOUBLE));
        found.add(VALUES.createLiteral("-1.0E3", XSD.DOUBLE));
        found.add(VALUES.createLiteral("true", XSD.BOOLEAN));
        found.add(VALUES.createLiteral("1", XSD.BOOLEAN));
        found.add(VALUES.createLiteral("2024-02-29", XSD.DATE));
        found.add(VALUES.createLiteral("2024-02-29T12:00:00.000+01:00", XSD.DATETIME));
        found.add(VALUES.createLiteral("P1DT2H", XSD.DURATION));
        found.add(VALUES.createLiteral("<a>b</a>", RDF.XMLLITERAL));
        found.add(VALUES.createLiteral("own", VALUES.createIRI("http://example.org/datatypes/own")));
        found.add(VALUES.createLiteral("urn", VALUES.createIRI("urn:datatype:1")));
        found.addAll(ofOneHash());
        return found;
    }

    /** Long literals in pairs of the same CRC-32, by which the store finds them. */
    private static List<Literal> ofOneHash() {
        Random random = new Random(17);
        Map<Long, String> labels = new HashMap<>();
        List<Literal> found = new ArrayList<>();
        while (found.size() < 6) {
            // The CRC-32 of values of one length differs where that of their ends differs.
            String label = "a label of one hash " + String.format("%016x", random.nextLong());
            CRC32 hash = new CRC32();
            hash.update(label.getBytes(StandardCharsets.UTF_8));
            String other = labels.put(hash.getValue(), label);
            if (other != null) {
                found.add(VALUES.createLiteral(label));
                found.add(VALUES.createLiteral(other));
            }
        }
        return found;
    }

    private static List<IRI> iris() {
        List<IRI> found = new ArrayList<>();
        for (String text : new String[] {
            "a:", "urn:x", "urn:isbn:0451450523", "http://example.org", "http://example.org/", "http://example.org/#",
            "http://example.org/a#b", "http://example.org/a/b/c?d=e&f=g#h", "mailto:someone@example.org",
            "http://example.org/größe/straße", "http://example.org/%20", "http://example.org/" + "long/".repeat(300) + "end",
            "http://example.org/ns/" + "n".repeat(3000)
        }) {
            found.add(VALUES.createIRI(text));
        }
        return found;
    }

    private static void inferred(InferencerConnection connection) {
        connection.addInferredStatement(iri("subject1"), RDF.TYPE, RDFS.RESOURCE);
        connection.addInferredStatement(iri("subject2"), RDF.TYPE, RDFS.RESOURCE, iri("g1"));
        connection.addInferredStatement(iri("only"), iri("inferred"), VALUES.createLiteral("a value of inferred statements"));
        connection.addInferredStatement(iri("inferredFirst"), P, iri("o"));
        connection.addInferredStatement(iri("inferredOnce"), P, iri("o"));
        // Already explicit.
        connection.addInferredStatement(iri("s"), P, iri("o"));
    }

    private static void export(Sail store, Path directory) throws IOException {
        store.init();
        try (SailConnection connection = store.getConnection()) {
            write(connection, false, directory.resolve("explicit.nq"));
            write(connection, true, directory.resolve("all.nq"));
        } finally {
            store.shutDown();
        }
    }

    private static void write(SailConnection connection, boolean includeInferred, Path file) throws IOException {
        try (OutputStream out = Files.newOutputStream(file);
                CloseableIteration<? extends Statement> found =
                        connection.getStatements(null, null, null, includeInferred)) {
            RDFWriter writer = Rio.createWriter(RDFFormat.NQUADS, out);
            writer.startRDF();
            while (found.hasNext()) {
                writer.handleStatement(found.next());
            }
            writer.endRDF();
        }
    }
}
