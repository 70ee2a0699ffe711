package org.fulgurite.rdf4j.values;

import java.util.Optional;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.base.AbstractLiteral;
import org.eclipse.rdf4j.model.base.CoreDatatype;

/** A literal of a store. */
final class StoredLiteral extends AbstractLiteral implements StoredValue {
    private static final long serialVersionUID = 1L;

    private final long id;
    private final transient IdScope scope;

    /** The term; before it is read, the group that reads it. */
    private transient volatile Object term;

    StoredLiteral(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.term = group;
    }

    StoredLiteral(long id, IdScope scope, TermReader terms) {
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
        term = (Literal) terms.term();
    }

    private Literal term() {
        Object known = term;
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = term;
        }
        return (Literal) known;
    }

    @Override
    public String getLabel() {
        return term().getLabel();
    }

    @Override
    public Optional<String> getLanguage() {
        return term().getLanguage();
    }

    @Override
    public IRI getDatatype() {
        return term().getDatatype();
    }

    @Override
    public CoreDatatype getCoreDatatype() {
        return term().getCoreDatatype();
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || StoredValues.haveSameId(this, other)
                || !StoredValues.areDifferent(this, other) && super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    private Object writeReplace() {
        return term();
    }
}
