package org.fulgurite.rdf4j;

import java.util.HashMap;
import java.util.Map;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.values.TermBytes;

/** Statements that a transaction adds, until they are inserted in one call. Each term is sent once. */
final class PendingQuads {
    private static final int QUADS_MAX = 8192;
    private static final int BYTES_MAX = 1 << 20;
    private static final int DEFAULT_GRAPH = -1;

    private final Map<Value, Integer> positions = new HashMap<>();
    private final TermBytes terms = new TermBytes();
    private int[] rows = new int[256];
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    boolean isFull() {
        return count >= QUADS_MAX || terms.length() >= BYTES_MAX;
    }

    void add(Resource subject, IRI predicate, Value object, Resource context) {
        if (4 * count + 4 > rows.length) {
            rows = java.util.Arrays.copyOf(rows, 2 * rows.length);
        }
        int at = 4 * count;
        rows[at] = position(subject);
        rows[at + 1] = position(predicate);
        rows[at + 2] = position(object);
        rows[at + 3] = context == null ? DEFAULT_GRAPH : position(context);
        count++;
    }

    private int position(Value value) {
        Integer known = positions.get(value);
        if (known != null) {
            return known;
        }
        if (terms.length() == 0) {
            terms.number(0);
        }
        int position = positions.size();
        terms.term(value);
        positions.put(value, position);
        return position;
    }

    /** Inserts the statements as explicit or inferred ones, and returns how many are new. */
    long insert(StoreView transaction, boolean inferred) {
        terms.setNumber(0, positions.size());
        terms.number(count);
        for (int index = 0; index < 4 * count; index++) {
            terms.number(rows[index]);
        }
        try {
            return NativeQuads.insert(transaction.raw(), terms.array(), terms.length(), inferred);
        } finally {
            clear();
        }
    }

    void clear() {
        positions.clear();
        terms.clear();
        count = 0;
    }
}
