package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.rdf4j.common.iteration.Iterations;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.base.CoreDatatype;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.repository.RepositoryResult;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.rio.helpers.NTriplesUtil;
import org.fulgurite.rdf4j.values.StoredValue;
import org.junit.jupiter.api.Test;

/** Values between Java and the native library: nothing of them may change on the way, in any direction. */
class LiteralsTest extends WithStore {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI SUBJECT = Values.iri("http://example.org/s");
    private static final IRI PREDICATE = Values.iri("http://example.org/p");

    /** Objects of all kinds; literals of all datatypes that RDF4J knows, with short and long texts. */
    private static List<Value> objects() {
        List<Value> objects = new ArrayList<>();
        for (String text : List.of("7", "ü", "a text that is longer than an id", "ein längerer Text mit Umlauten")) {
            objects.add(VALUES.createLiteral(text));
            objects.add(VALUES.createLiteral(text, "de"));
            objects.add(VALUES.createLiteral(text, Values.iri("http://example.org/datatype")));
            for (CoreDatatype datatype : CoreDatatype.XSD.values()) {
                objects.add(VALUES.createLiteral(text, datatype.getIri()));
            }
        }
        objects.add(Values.iri("http://example.org/größe"));
        objects.add(Values.iri("http://example.org/o"));
        return objects;
    }

    private List<Statement> statements(SailRepositoryConnection connection) {
        try (RepositoryResult<Statement> found = connection.getStatements(SUBJECT, PREDICATE, null)) {
            return Iterations.asList(found);
        }
    }

    private static void assertObjects(List<Statement> statements) {
        Set<Value> expected = new HashSet<>(objects());
        Set<String> forms = new HashSet<>();
        for (Value value : expected) {
            forms.add(NTriplesUtil.toNTriplesString(value));
        }
        Set<Value> found = new HashSet<>();
        for (Statement statement : statements) {
            Value object = statement.getObject();
            found.add(object);
            assertTrue(forms.remove(NTriplesUtil.toNTriplesString(object)), object::toString);
            if (object.isLiteral()) {
                Literal literal = (Literal) object;
                CoreDatatype core = CoreDatatype.from(literal.getDatatype());
                assertSame(core, literal.getCoreDatatype(), object::toString);
            }
        }
        assertEquals(Set.of(), forms);
        assertEquals(expected, found);
        assertEquals(found, expected);
    }

    @Test
    void valuesOfAFileThatTheNativeLibraryReadsAreThoseOfTheFile() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (Value object : objects()) {
            lines.append(NTriplesUtil.toNTriplesString(SUBJECT))
                    .append(' ')
                    .append(NTriplesUtil.toNTriplesString(PREDICATE))
                    .append(' ')
                    .append(NTriplesUtil.toNTriplesString(object))
                    .append(" .\n");
        }
        Path file = directory.resolve("data.nt");
        Files.writeString(file, lines);
        store.bulkLoad().file(file).run();
        try (SailRepositoryConnection connection = repository.getConnection()) {
            assertObjects(statements(connection));
        }
    }

    @Test
    void valuesThatAreAddedAreReadInTheTransactionAndAfterIt() {
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            objects().forEach(object -> connection.add(SUBJECT, PREDICATE, object));
            assertObjects(statements(connection));
            connection.commit();
            assertObjects(statements(connection));
            for (Value object : objects()) {
                assertTrue(connection.hasStatement(SUBJECT, PREDICATE, object, false), object::toString);
            }
        }
    }

    @Test
    void statementsAreTheSameAfterTheyAreSerialized() throws Exception {
        List<Statement> read;
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            objects().forEach(object -> connection.add(SUBJECT, PREDICATE, object));
            connection.add(Values.bnode("node"), PREDICATE, Values.literal(1));
            connection.commit();
            try (RepositoryResult<Statement> found = connection.getStatements(null, null, null)) {
                read = new ArrayList<>(Iterations.asList(found));
            }
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(read);
        }
        List<?> copied;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            copied = (List<?>) in.readObject();
        }
        assertEquals(read.size(), copied.size());
        for (int index = 0; index < read.size(); index++) {
            Statement copy = (Statement) copied.get(index);
            assertEquals(lineOf(read.get(index)), lineOf(copy));
            assertFalse(copy.getSubject() instanceof StoredValue);
            assertFalse(copy.getObject() instanceof StoredValue);
        }
    }

    private static String lineOf(Statement statement) {
        return NTriplesUtil.toNTriplesString(statement.getSubject()) + ' '
                + NTriplesUtil.toNTriplesString(statement.getPredicate()) + ' '
                + NTriplesUtil.toNTriplesString(statement.getObject());
    }

    @Test
    void aTextThatIsNotUnicodeIsRefusedAndTheOtherStatementsAreAdded() {
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            connection.add(SUBJECT, PREDICATE, Values.literal("before"));
            IRI half = VALUES.createIRI("http://example.org/\ud83d");
            Literal otherHalf = VALUES.createLiteral("\ude00");
            assertThrows(RuntimeException.class, () -> connection.add(SUBJECT, PREDICATE, otherHalf));
            assertThrows(RuntimeException.class, () -> connection.add(half, PREDICATE, Values.literal("a")));
            connection.add(SUBJECT, PREDICATE, Values.literal("after"));
            connection.commit();
            assertEquals(2, connection.size());
            Set<String> texts = new HashSet<>();
            statements(connection).forEach(statement -> texts.add(statement.getObject().stringValue()));
            assertEquals(Set.of("before", "after"), texts);
        }
    }
}
