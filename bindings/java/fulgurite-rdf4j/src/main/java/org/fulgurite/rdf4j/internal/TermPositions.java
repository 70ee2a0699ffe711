package org.fulgurite.rdf4j.internal;

import java.util.Arrays;
import org.eclipse.rdf4j.model.Value;

/** Terms, each with its position in the order in which they were added. A hash table without an object for each term. */
public final class TermPositions {
    /** The position of a term that was not added. */
    public static final int NONE = -1;

    private static final int SLOTS_FIRST = 64;

    /** The terms by their hashes; null where there is none. At least half of the slots are free. */
    private Value[] terms = new Value[SLOTS_FIRST];

    private int[] hashes = new int[SLOTS_FIRST];
    private int[] positions = new int[SLOTS_FIRST];
    private int count;

    /** The hash of the term that was looked for last, and the free slot where the search ended. */
    private int hash;

    private int free;

    /**
     * Returns the number of terms.
     *
     * @return the number of terms
     */
    public int count() {
        return count;
    }

    /**
     * Returns the position of a term.
     *
     * @param value the term
     * @return its position, or {@link #NONE}
     */
    public int find(Value value) {
        boolean isIri = value.isIRI();
        // The upper bits of the product depend on all bits of the hash code.
        hash = hashCodeOf(value) * 0x9E3779B9;
        int slot = first(hash);
        while (terms[slot] != null) {
            if (hashes[slot] == hash && isSame(terms[slot], value, isIri)) {
                return positions[slot];
            }
            slot = next(slot);
        }
        free = slot;
        return NONE;
    }

    /**
     * Returns the hash code of a term. For an IRI it asks the text, which has the same one: the {@code hashCode} of an
     * IRI of RDF4J takes a lock when it is called for the first time, and parsers create a new object for each IRI.
     *
     * @param value the term
     * @return its hash code
     */
    public static int hashCodeOf(Value value) {
        return value.isIRI() ? value.stringValue().hashCode() : value.hashCode();
    }

    /**
     * Returns whether two terms are equal.
     *
     * @param known a term, or null
     * @param value the other term
     * @return whether they are equal
     */
    public static boolean isSame(Value known, Value value) {
        return known != null && isSame(known, value, value.isIRI());
    }

    private static boolean isSame(Value known, Value value, boolean isIri) {
        if (known == value) {
            return true;
        }
        return isIri ? known.isIRI() && known.stringValue().equals(value.stringValue()) : value.equals(known);
    }

    /**
     * Adds the term for which the last call of {@link #find} has found nothing.
     *
     * @param value the term
     * @return its position
     */
    public int add(Value value) {
        terms[free] = value;
        hashes[free] = hash;
        positions[free] = count;
        count++;
        if (2 * count > terms.length) {
            grow();
        }
        return count - 1;
    }

    private int first(int of) {
        return of >>> Integer.numberOfLeadingZeros(terms.length - 1);
    }

    private int next(int slot) {
        return slot + 1 & terms.length - 1;
    }

    private void grow() {
        Value[] oldTerms = terms;
        int[] oldHashes = hashes;
        int[] oldPositions = positions;
        terms = new Value[2 * oldTerms.length];
        hashes = new int[terms.length];
        positions = new int[terms.length];
        for (int old = 0; old < oldTerms.length; old++) {
            if (oldTerms[old] == null) {
                continue;
            }
            int slot = first(oldHashes[old]);
            while (terms[slot] != null) {
                slot = next(slot);
            }
            terms[slot] = oldTerms[old];
            hashes[slot] = oldHashes[old];
            positions[slot] = oldPositions[old];
        }
    }

    /** Removes all terms. */
    public void clear() {
        if (count > 0) {
            Arrays.fill(terms, null);
            count = 0;
        }
    }
}
