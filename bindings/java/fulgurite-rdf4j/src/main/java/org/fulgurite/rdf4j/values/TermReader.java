package org.fulgurite.rdf4j.values;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/** Reads terms from bytes, in the form that {@code crates/java/src/quads/objects/terms.rs} describes. */
public final class TermReader {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;
    private int at;

    /**
     * Reads from the beginning.
     *
     * @param bytes the bytes
     */
    public TermReader(byte[] bytes) {
        this(bytes, 0);
    }

    /**
     * Reads from a position.
     *
     * @param bytes the bytes
     * @param at the position
     */
    TermReader(byte[] bytes, int at) {
        this.bytes = bytes;
        this.at = at;
    }

    /**
     * Returns whether there is more to read.
     *
     * @return whether there is more
     */
    public boolean hasMore() {
        return at < bytes.length;
    }

    /**
     * Reads a text.
     *
     * @return the text
     */
    public String text() {
        int length = number();
        String text;
        if (length >= 0) {
            text = ascii(length);
        } else {
            length &= ~TermBytes.NOT_ASCII;
            text = new String(bytes, at, length, StandardCharsets.UTF_8);
        }
        at += length;
        return text;
    }

    /** Returns the next bytes as a text of ASCII. This constructor copies them without a look at them. */
    @SuppressWarnings("deprecation")
    private String ascii(int length) {
        return new String(bytes, 0, at, length);
    }

    /**
     * Reads a byte of flags.
     *
     * @return the flags
     */
    public int flags() {
        return bytes[at++];
    }

    /**
     * Reads a number of four bytes.
     *
     * @return the number
     */
    public int number() {
        int number = (int) INT.get(bytes, at);
        at += 4;
        return number;
    }

    /**
     * Reads a term, or a 0 byte.
     *
     * @return the term, or null
     */
    public Value optionalTerm() {
        if (bytes[at] == 0) {
            at++;
            return null;
        }
        return term();
    }

    int position() {
        return at;
    }

    /** Passes over an IRI. */
    void skipIri() {
        at++;
        int length = number() & ~TermBytes.NOT_ASCII;
        at += length;
    }

    /**
     * Reads an IRI.
     *
     * @return its text
     */
    public String iri() {
        return textOf(TermBytes.IRI, "an IRI");
    }

    /** Reads a blank node, and returns its label. */
    String blankNode() {
        return textOf(TermBytes.BLANK, "a blank node");
    }

    private String textOf(byte kind, String name) {
        if (bytes[at++] != kind) {
            throw another(name);
        }
        return text();
    }

    private static IllegalStateException another(String expected) {
        return new IllegalStateException("the native library returned another kind of term than " + expected);
    }

    /** Reads a literal into a value. */
    void literal(StoredLiteral value) {
        switch (bytes[at++]) {
            case TermBytes.TEXT:
                value.set(text(), Datatype.STRING);
                return;
            case TermBytes.LANGUAGE:
                String language = text();
                value.set(text(), language);
                return;
            case TermBytes.TYPED:
                Datatype datatype = Datatype.of(text());
                value.set(text(), datatype);
                return;
            case TermBytes.NUMBERED:
                Datatype numbered = Datatype.numbered(bytes[at++]);
                value.set(text(), numbered);
                return;
            default:
                throw another("a literal");
        }
    }

    /**
     * Reads a term.
     *
     * @return the term
     */
    public Value term() {
        switch (bytes[at++]) {
            case TermBytes.IRI:
                return VALUES.createIRI(text());
            case TermBytes.BLANK:
                return VALUES.createBNode(text());
            case TermBytes.TEXT:
                return VALUES.createLiteral(text());
            case TermBytes.LANGUAGE:
                String language = text();
                return VALUES.createLiteral(text(), language);
            case TermBytes.TYPED:
                IRI datatype = Datatype.of(text()).iri();
                return VALUES.createLiteral(text(), datatype);
            case TermBytes.NUMBERED:
                IRI numbered = Datatype.numbered(bytes[at++]).iri();
                return VALUES.createLiteral(text(), numbered);
            case TermBytes.TRIPLE:
                Resource subject = (Resource) term();
                IRI predicate = (IRI) term();
                return StoredTriple.of(subject, predicate, term());
            default:
                throw new IllegalStateException("the native library returned an unknown kind of term");
        }
    }
}
