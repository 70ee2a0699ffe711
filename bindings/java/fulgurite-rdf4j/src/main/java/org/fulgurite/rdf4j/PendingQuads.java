package org.fulgurite.rdf4j;

import java.util.Arrays;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.TermPositions;
import org.fulgurite.rdf4j.values.TermBytes;

/** Statements that a transaction adds, until they are inserted in one call. Each term is sent once. */
final class PendingQuads {
    private static final int QUADS_MAX = 8192;
    private static final int BYTES_MAX = 1 << 20;
    private static final int DEFAULT_GRAPH = -1;

    private final TermPositions positions = new TermPositions();
    private final TermBytes terms = new TermBytes();
    private int[] rows = new int[256];
    private int count;

    /** The subject of the last statement, which the next one often has too; null if there is none. */
    private Resource lastSubject;

    private int lastPosition;

    boolean isEmpty() {
        return count == 0;
    }

    boolean isFull() {
        return count >= QUADS_MAX || terms.length() >= BYTES_MAX;
    }

    /**
     * Throws an {@link IllegalArgumentException}, and adds no statement, if a text is not valid Unicode. Terms before it
     * stay: they get ids when other statements are inserted.
     */
    void add(Resource subject, IRI predicate, Value object, Resource context) {
        if (4 * count + 4 > rows.length) {
            rows = Arrays.copyOf(rows, 2 * rows.length);
        }
        if (!TermPositions.isSame(lastSubject, subject)) {
            lastPosition = position(subject);
            lastSubject = subject;
        }
        int at = 4 * count;
        rows[at] = lastPosition;
        rows[at + 1] = position(predicate);
        rows[at + 2] = position(object);
        rows[at + 3] = context == null ? DEFAULT_GRAPH : position(context);
        count++;
    }

    private int position(Value value) {
        int known = positions.find(value);
        if (known != TermPositions.NONE) {
            return known;
        }
        if (terms.length() == 0) {
            terms.number(0);
        }
        int end = terms.length();
        try {
            terms.term(value);
        } catch (RuntimeException error) {
            // Later statements must not follow a part of a term.
            terms.truncate(end);
            throw error;
        }
        return positions.add(value);
    }

    /** Inserts the statements as explicit or inferred ones, and returns how many are new. */
    long insert(StoreView transaction, boolean inferred) {
        terms.setNumber(0, positions.count());
        terms.number(count).numbers(rows, 4 * count);
        try {
            return NativeQuads.insert(transaction.raw(), terms.array(), terms.length(), inferred);
        } finally {
            clear();
        }
    }

    void clear() {
        positions.clear();
        terms.clear();
        lastSubject = null;
        count = 0;
    }
}
