package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.Value;

/** A value with the id of its term. */
public interface StoredValue extends Value {
    /**
     * Returns the id of the term.
     *
     * @return the id
     */
    long id();

    /**
     * Returns where the id is valid.
     *
     * @return the scope of the id
     */
    IdScope scope();

    /**
     * Returns whether the term was read.
     *
     * @return whether it was read
     */
    boolean isRead();

    /**
     * Reads the term.
     *
     * @param terms where it is next
     */
    void read(TermReader terms);

    /**
     * Creates the value of an id, whose term is read later. The first byte of an id is the kind of its term.
     *
     * @param id the id
     * @param group the values that are read together
     * @return the value
     */
    static StoredValue of(long id, ValueGroup group) {
        switch ((int) (id >>> 56)) {
            case 1:
                return new StoredIri(id, group);
            case 2:
            case 3:
                return new StoredBlankNode(id, group);
            case 4:
                return new StoredTriple(id, group);
            default:
                return new StoredLiteral(id, group);
        }
    }

    /**
     * Creates the value of an id.
     *
     * @param id the id
     * @param scope where the id is valid
     * @param terms where its term is next
     * @return the value
     */
    static StoredValue read(long id, IdScope scope, TermReader terms) {
        switch ((int) (id >>> 56)) {
            case 1:
                return new StoredIri(id, scope, terms);
            case 2:
            case 3:
                return new StoredBlankNode(id, scope, terms);
            case 4:
                return new StoredTriple(id, scope, terms);
            default:
                return new StoredLiteral(id, scope, terms);
        }
    }
}
