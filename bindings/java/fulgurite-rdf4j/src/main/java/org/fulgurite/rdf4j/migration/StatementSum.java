package org.fulgurite.rdf4j.migration;

import java.util.Locale;
import org.eclipse.rdf4j.model.BNode;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.fulgurite.rdf4j.values.StoredTriple;

/** The number of statements, and the sum of their hashes, which does not depend on their order. */
final class StatementSum {
    private static final long PRIME = 0x100000001b3L;
    private static final long OFFSET = 0xcbf29ce484222325L;

    private long count;
    private long hash;

    /** Adds a statement, which is inferred or explicit. */
    void add(Statement statement, boolean isInferred) {
        long sum = isInferred ? 1 : OFFSET;
        sum = value(sum, statement.getSubject());
        sum = value(sum, statement.getPredicate());
        sum = value(sum, statement.getObject());
        sum = statement.getContext() == null ? character(sum, '-') : value(sum, statement.getContext());
        count++;
        hash += mix(sum);
    }

    long count() {
        return count;
    }

    boolean isSameAs(StatementSum other) {
        return count == other.count && hash == other.hash;
    }

    private static long value(long sum, Value value) {
        if (value instanceof IRI) {
            return text(character(sum, 'I'), value.stringValue());
        }
        if (value instanceof BNode) {
            return text(character(sum, 'B'), ((BNode) value).getID());
        }
        if (value instanceof Literal) {
            Literal literal = (Literal) value;
            long labelled = text(character(sum, 'L'), literal.getLabel());
            // Fulgurite stores language tags in lower case.
            return literal.getLanguage().isPresent()
                    ? text(character(labelled, '@'), literal.getLanguage().get().toLowerCase(Locale.ROOT))
                    : text(character(labelled, '^'), literal.getDatatype().stringValue());
        }
        long subject = value(character(sum, 'T'), StoredTriple.subject(value));
        return value(value(subject, StoredTriple.predicate(value)), StoredTriple.object(value));
    }

    private static long text(long sum, String text) {
        long found = sum;
        for (int index = 0; index < text.length(); index++) {
            found = character(found, text.charAt(index));
        }
        // No character: the end of a text.
        return character(found, 0x10000);
    }

    private static long character(long sum, int character) {
        return (sum ^ character) * PRIME;
    }

    /** Spreads a number over all bits: the finisher of splitmix64. */
    private static long mix(long number) {
        long mixed = (number ^ number >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }
}
