package org.fulgurite.rdf4j.values;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.base.CoreDatatype;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.util.Values;
import org.junit.jupiter.api.Test;

/** Terms as bytes, and back. */
class TermBytesTest {
    /** Without checks, so that every text can be in every place. */
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();

    private static final List<String> TEXTS = List.of(
            "", "a", "a\0b", "\u007f", "\u0080", "\u00ff", "\u0100", "ü", "aü", "üa", "\ud83d\ude00",
            "x".repeat(999) + "é");

    private static List<Value> terms() {
        List<Value> terms = new ArrayList<>();
        for (String text : TEXTS) {
            IRI iri = VALUES.createIRI("http://example.org/" + text);
            terms.add(iri);
            terms.add(VALUES.createBNode("n" + text));
            terms.add(VALUES.createLiteral(text));
            terms.add(VALUES.createLiteral(text, "de-AT"));
            terms.add(VALUES.createLiteral(text, iri));
            for (CoreDatatype datatype : CoreDatatype.XSD.values()) {
                terms.add(VALUES.createLiteral(text, datatype.getIri()));
            }
            terms.add(VALUES.createTriple(VALUES.createBNode("s"), iri, VALUES.createLiteral(text)));
        }
        return terms;
    }

    /** Whether two literals are the same in all that RDF4J asks of them. */
    private static void assertSameLiteral(Literal expected, Literal read) {
        assertEquals(expected.getLabel(), read.getLabel());
        assertEquals(expected.getLanguage(), read.getLanguage());
        assertEquals(expected.getDatatype(), read.getDatatype());
        assertEquals(expected.getCoreDatatype(), read.getCoreDatatype());
        assertEquals(expected.hashCode(), read.hashCode());
    }

    @Test
    void termsAreReadAsTheyWereWritten() {
        TermBytes bytes = new TermBytes();
        terms().forEach(bytes::term);
        TermReader reader = new TermReader(Arrays.copyOf(bytes.array(), bytes.length()));
        for (Value term : terms()) {
            Value read = reader.term();
            assertEquals(term, read);
            assertEquals(read, term);
            if (term.isLiteral()) {
                assertSameLiteral((Literal) term, (Literal) read);
            }
        }
        assertEquals(bytes.length(), reader.position());
    }

    @Test
    void storedValuesAreThoseThatWereWritten() {
        TermBytes bytes = new TermBytes();
        terms().forEach(bytes::term);
        TermReader reader = new TermReader(bytes.array());
        for (Value term : terms()) {
            StoredValue read = StoredValue.read(id(term), IdScope.ofStore(), reader);
            assertEquals(term, read);
            assertEquals(read, term);
            assertEquals(term.hashCode(), read.hashCode());
            if (term.isLiteral()) {
                assertSameLiteral((Literal) term, (Literal) read);
            }
        }
        assertEquals(bytes.length(), reader.position());
    }

    /** An id of the kind of a term. */
    private static long id(Value term) {
        long kind = term.isIRI() ? 1 : term.isBNode() ? 2 : term.isTriple() ? 4 : 5;
        return kind << 56 | 1;
    }

    @Test
    void aTermOfAnotherKindThanItsIdIsAnError() {
        for (Value term : List.of(Values.iri("urn:a"), Values.bnode("a"), Values.literal(1))) {
            TermBytes bytes = new TermBytes().term(term);
            for (long kind : new long[] {1, 2, 5}) {
                if (kind != id(term) >>> 56) {
                    TermReader reader = new TermReader(bytes.array());
                    assertThrows(
                            IllegalStateException.class, () -> StoredValue.read(kind << 56 | 1, null, reader));
                }
            }
        }
    }

    @Test
    void anIriIsPassedOverWhateverItsTextIs() {
        for (String text : TEXTS) {
            TermBytes bytes = new TermBytes().term(VALUES.createIRI("urn:" + text)).term(Values.literal(7));
            TermReader reader = new TermReader(bytes.array());
            reader.skipIri();
            assertEquals(Values.literal(7), reader.term());
        }
    }

    @Test
    void numbersAreAppendedTogetherAsTheyAreOneByOne() {
        int[] numbers = {0, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE, 0x01020304};
        TermBytes single = new TermBytes().flag(true);
        for (int index = 0; index < 5; index++) {
            single.number(numbers[index]);
        }
        TermBytes together = new TermBytes().flag(true).numbers(numbers, 5);
        assertArrayEquals(
                Arrays.copyOf(single.array(), single.length()), Arrays.copyOf(together.array(), together.length()));
        TermReader reader = new TermReader(together.array(), 1);
        for (int index = 0; index < 5; index++) {
            assertEquals(numbers[index], reader.number());
        }
    }

    @Test
    void aTextThatIsNotUnicodeIsAnErrorAndCanBeRemoved() {
        IRI before = Values.iri("urn:before");
        for (String half : List.of("\ud83d", "\ude00", "a\ud83db", "ü\ude00\ud83d")) {
            TermBytes bytes = new TermBytes().term(before);
            int end = bytes.length();
            assertThrows(IllegalArgumentException.class, () -> bytes.term(VALUES.createLiteral(half)));
            bytes.truncate(end);
            TermReader reader = new TermReader(bytes.term(Values.literal(7)).array());
            assertEquals(before, reader.term());
            assertEquals(Values.literal(7), reader.term());
        }
    }
}
