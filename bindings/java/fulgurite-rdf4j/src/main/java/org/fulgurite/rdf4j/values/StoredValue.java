package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.Value;

/** A value with the id of its term. */
public interface StoredValue extends Value {
    /** The kind of an IRI: the first byte of its id. */
    int IRI_KIND = 1;

    /** The kind of a triple term. */
    int TRIPLE_KIND = 4;

    /** The kind of a literal whose id does not contain it. */
    int LITERAL_KIND = 5;

    /** The kind of a short text with a language. */
    int LANGUAGE_TEXT_KIND = 7;

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
            case IRI_KIND:
                return new StoredIri(id, group);
            case 2:
            case 3:
                return new StoredBlankNode(id, group);
            case TRIPLE_KIND:
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
            case IRI_KIND:
                return new StoredIri(id, scope, terms);
            case 2:
            case 3:
                return new StoredBlankNode(id, scope, terms);
            case TRIPLE_KIND:
                return new StoredTriple(id, scope, terms);
            default:
                return new StoredLiteral(id, scope, terms);
        }
    }

    /**
     * Returns whether two values are known to be equal by their ids.
     *
     * @param value a value
     * @param other another object
     * @return whether both have one id of one scope
     */
    static boolean haveSameId(StoredValue value, Object other) {
        if (!(other instanceof StoredValue)) {
            return false;
        }
        StoredValue stored = (StoredValue) other;
        return value.id() == stored.id() && value.scope() != null && value.scope() == stored.scope();
    }

    /**
     * Returns whether two values are known to be different by their ids. Committed terms have one id each in a scope: a
     * term that a sweep has removed gets another id in another scope.
     *
     * @param value a value
     * @param other another object
     * @return whether they are known to be different
     */
    static boolean areDifferent(StoredValue value, Object other) {
        if (!(other instanceof StoredValue)) {
            return false;
        }
        StoredValue stored = (StoredValue) other;
        IdScope scope = value.scope();
        return value.id() != stored.id()
                && scope != null
                && scope == stored.scope()
                && !scope.isOfTransaction()
                && !(mayHaveLanguage(value.id()) && mayHaveLanguage(stored.id()));
    }

    /**
     * Whether the term of an id may have a language. Literals are equal if their languages differ in case only, and a
     * direction of the text is not read, so terms with different ids may be equal values.
     */
    private static boolean mayHaveLanguage(long id) {
        int kind = (int) (id >>> 56);
        return kind == TRIPLE_KIND || kind == LITERAL_KIND || kind == LANGUAGE_TEXT_KIND;
    }
}
