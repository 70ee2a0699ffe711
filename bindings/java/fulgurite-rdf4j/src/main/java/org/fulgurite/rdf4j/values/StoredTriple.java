package org.fulgurite.rdf4j.values;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Triple;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.base.AbstractTriple;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/**
 * A triple term of a store. No other class names RDF4J's type of triple terms, which RDF4J 6 renames, except for the
 * interface that {@code ViewTripleSource} implements.
 */
public final class StoredTriple extends AbstractTriple implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /** The term; before it is read, the group that reads it. */
    private transient volatile Object term;

    StoredTriple(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.term = group;
    }

    StoredTriple(long id, IdScope scope, TermReader terms) {
        this.id = id;
        this.scope = scope;
        read(terms);
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public IdScope scope() {
        return scope;
    }

    @Override
    public boolean isRead() {
        return !(term instanceof ValueGroup);
    }

    @Override
    public void read(TermReader terms) {
        term = (Triple) terms.term();
    }

    private Triple term() {
        Object known = term;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = term;
        }
        return (Triple) known;
    }

    @Override
    public Resource getSubject() {
        return term().getSubject();
    }

    @Override
    public IRI getPredicate() {
        return term().getPredicate();
    }

    @Override
    public Value getObject() {
        return term().getObject();
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || StoredValue.haveSameId(this, other)
                || !StoredValue.areDifferent(this, other) && super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return term();
    }

    /**
     * Returns whether a value is a triple term.
     *
     * @param value the value
     * @return whether it is one
     */
    public static boolean isTriple(Value value) {
        return value.isTriple();
    }

    /**
     * Returns the subject of a triple term.
     *
     * @param triple a triple term
     * @return its subject
     */
    public static Resource subject(Value triple) {
        return ((Triple) triple).getSubject();
    }

    /**
     * Returns the predicate of a triple term.
     *
     * @param triple a triple term
     * @return its predicate
     */
    public static IRI predicate(Value triple) {
        return ((Triple) triple).getPredicate();
    }

    /**
     * Returns the object of a triple term.
     *
     * @param triple a triple term
     * @return its object
     */
    public static Value object(Value triple) {
        return ((Triple) triple).getObject();
    }

    /** Returns a triple term with these terms. */
    static Value of(Resource subject, IRI predicate, Value object) {
        return SimpleValueFactory.getInstance().createTriple(subject, predicate, object);
    }
}
