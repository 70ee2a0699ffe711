package org.fulgurite.rdf4j.values;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.eclipse.rdf4j.model.BNode;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.base.CoreDatatype;

/** Terms as bytes, in the form that {@code crates/java/src/quads/objects/terms.rs} describes. */
public final class TermBytes {
    static final byte IRI = 1;
    static final byte BLANK = 2;
    static final byte TEXT = 3;
    static final byte LANGUAGE = 4;
    static final byte TYPED = 5;
    static final byte TRIPLE = 6;
    static final byte NUMBERED = 9;

    /** In the length of a text: it is not ASCII. */
    static final int NOT_ASCII = 1 << 31;

    // Positions of patterns that have no term: see crates/java/src/quads/statements.rs.
    private static final byte ANY = 0;
    private static final byte ID = 7;
    private static final byte DEFAULT_GRAPH = 8;

    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private byte[] bytes = new byte[256];
    private int length;
    private CharsetEncoder encoder;

    /**
     * Returns the array, whose first {@link #length()} bytes are used.
     *
     * @return the array, valid until the next change
     */
    public byte[] array() {
        return bytes;
    }

    /**
     * Returns the number of bytes.
     *
     * @return the number of bytes
     */
    public int length() {
        return length;
    }

    /**
     * Removes all bytes.
     *
     * @return this object
     */
    public TermBytes clear() {
        length = 0;
        return this;
    }

    /**
     * Appends a number of four bytes.
     *
     * @param number the number
     * @return this object
     */
    public TermBytes number(int number) {
        reserve(4);
        length += 4;
        setNumber(length - 4, number);
        return this;
    }

    /**
     * Replaces a number.
     *
     * @param position its position in the array
     * @param number the number
     */
    public void setNumber(int position, int number) {
        INT.set(bytes, position, number);
    }

    /**
     * Appends numbers of four bytes.
     *
     * @param numbers the numbers
     * @param count how many of them
     * @return this object
     */
    public TermBytes numbers(int[] numbers, int count) {
        reserve((long) Integer.BYTES * count);
        byte[] into = bytes;
        int at = length;
        for (int index = 0; index < count; index++, at += Integer.BYTES) {
            INT.set(into, at, numbers[index]);
        }
        length = at;
        return this;
    }

    /**
     * Removes the bytes behind a position.
     *
     * @param position how many bytes remain
     */
    public void truncate(int position) {
        length = position;
    }

    /**
     * Appends a term.
     *
     * @param value the term
     * @return this object
     * @throws IllegalArgumentException if a text of it is not valid Unicode
     */
    public TermBytes term(Value value) {
        if (value instanceof IRI) {
            return kind(IRI).text(value.stringValue());
        }
        if (value instanceof BNode) {
            return kind(BLANK).text(((BNode) value).getID());
        }
        if (value instanceof Literal) {
            return literal((Literal) value);
        }
        return kind(TRIPLE)
                .term(StoredTriple.subject(value))
                .term(StoredTriple.predicate(value))
                .term(StoredTriple.object(value));
    }

    /**
     * Appends a position of a pattern that matches every term.
     *
     * @return this object
     */
    public TermBytes any() {
        return kind(ANY);
    }

    /**
     * Appends a position of a pattern that matches the default graph.
     *
     * @return this object
     */
    public TermBytes defaultGraph() {
        return kind(DEFAULT_GRAPH);
    }

    /**
     * Appends a position of a pattern that has the id of a term.
     *
     * @param id the id
     * @return this object
     */
    public TermBytes id(long id) {
        return kind(ID).number((int) id).number((int) (id >>> 32));
    }

    private TermBytes literal(Literal literal) {
        CoreDatatype core = literal.getCoreDatatype();
        int number = Datatype.numberOf(core);
        if (number >= 0) {
            kind(NUMBERED).kind((byte) number);
        } else if (core == CoreDatatype.XSD.STRING) {
            kind(TEXT);
        } else if (literal.getLanguage().isPresent()) {
            kind(LANGUAGE).text(literal.getLanguage().get());
        } else {
            kind(TYPED).text(literal.getDatatype().stringValue());
        }
        return text(literal.getLabel());
    }

    private TermBytes kind(byte kind) {
        reserve(1);
        bytes[length++] = kind;
        return this;
    }

    /**
     * Appends a byte.
     *
     * @param flag true for 1, false for 0
     * @return this object
     */
    public TermBytes flag(boolean flag) {
        return kind((byte) (flag ? 1 : 0));
    }

    /**
     * Appends a text.
     *
     * @param text the text
     * @return this object
     * @throws IllegalArgumentException if it is not valid Unicode
     */
    public TermBytes text(String text) {
        int chars = text.length();
        reserve(4 + 3 * (long) chars);
        byte[] into = bytes;
        int start = length + 4;
        int index = 0;
        for (; index < chars; index++) {
            char character = text.charAt(index);
            if (character >= 0x80) {
                break;
            }
            into[start + index] = (byte) character;
        }
        int end = start + index;
        if (index < chars) {
            end = encodeRest(text, index, end);
            setNumber(length, end - start | NOT_ASCII);
        } else {
            setNumber(length, chars);
        }
        length = end;
        return this;
    }

    /** Appends the rest of a text that is not ASCII. */
    private int encodeRest(String text, int from, int at) {
        if (encoder == null) {
            encoder = StandardCharsets.UTF_8.newEncoder();
        }
        ByteBuffer out = ByteBuffer.wrap(bytes, at, bytes.length - at);
        encoder.reset();
        try {
            java.nio.charset.CoderResult result = encoder.encode(CharBuffer.wrap(text, from, text.length()), out, true);
            if (result.isError()) {
                result.throwException();
            }
            return out.position();
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("a text is not valid Unicode: it has half of a surrogate pair", error);
        }
    }

    private void reserve(long more) {
        long needed = length + more;
        if (needed > Integer.MAX_VALUE - 16) {
            throw new IllegalArgumentException("a term has more than 2 GiB");
        }
        if (needed > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.max(needed, Math.min(2L * bytes.length, Integer.MAX_VALUE - 16)));
        }
    }
}
