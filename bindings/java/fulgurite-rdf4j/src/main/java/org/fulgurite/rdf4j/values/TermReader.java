package org.fulgurite.rdf4j.values;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/** Reads terms from bytes, in the form that {@code crates/java/src/quads/objects/terms.rs} describes. */
public final class TermReader {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final int DATATYPES_MAX = 1024;

    /** Datatypes, which repeat much. */
    private static final Map<String, IRI> DATATYPES = new ConcurrentHashMap<>();

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
        String text = new String(bytes, at, length, StandardCharsets.UTF_8);
        at += length;
        return text;
    }

    /**
     * Reads a byte that is 0 or 1.
     *
     * @return whether it is 1
     */
    public boolean flag() {
        return bytes[at++] != 0;
    }

    /**
     * Reads a number of four bytes.
     *
     * @return the number
     */
    public int number() {
        int number =
                (bytes[at] & 0xff) | (bytes[at + 1] & 0xff) << 8 | (bytes[at + 2] & 0xff) << 16 | bytes[at + 3] << 24;
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
        int length = number();
        at += length;
    }

    /**
     * Reads an IRI.
     *
     * @return its text
     */
    public String iri() {
        if (bytes[at++] != TermBytes.IRI) {
            throw new IllegalStateException("the native library returned another kind of term than an IRI");
        }
        return text();
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
                IRI datatype = DATATYPES.computeIfAbsent(text(), VALUES::createIRI);
                if (DATATYPES.size() > DATATYPES_MAX) {
                    DATATYPES.clear();
                }
                return VALUES.createLiteral(text(), datatype);
            case TermBytes.TRIPLE:
                Resource subject = (Resource) term();
                IRI predicate = (IRI) term();
                return StoredTriple.of(subject, predicate, term());
            default:
                throw new IllegalStateException("the native library returned an unknown kind of term");
        }
    }
}
