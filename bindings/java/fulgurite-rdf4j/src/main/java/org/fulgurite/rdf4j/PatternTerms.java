package org.fulgurite.rdf4j;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.values.TermBytes;

/** A pattern of statements as terms: of one context, or of all. */
final class PatternTerms {
    private static final int DEFAULT_GRAPH = 1 << 4;

    private final TermBytes terms = new TermBytes();
    private int given;

    private PatternTerms(Value... values) {
        for (int index = 0; index < values.length; index++) {
            if (values[index] != null) {
                given |= 1 << index;
                terms.term(values[index]);
            }
        }
    }

    static PatternTerms inAll(Resource subject, IRI predicate, Value object) {
        return new PatternTerms(subject, predicate, object);
    }

    static PatternTerms in(Resource context, Resource subject, IRI predicate, Value object) {
        PatternTerms pattern = new PatternTerms(subject, predicate, object, context);
        if (context == null) {
            pattern.given |= DEFAULT_GRAPH;
        }
        return pattern;
    }

    /** Removes the statements that match, and returns how many they were. */
    long remove(StoreView transaction, boolean inferred) {
        return NativeQuads.remove(transaction.raw(), given, terms.array(), terms.length(), inferred);
    }

    /** Notes that the transaction has read the pattern. */
    void observe(StoreView transaction) {
        NativeQuads.observe(transaction.raw(), given, terms.array(), terms.length());
    }
}
