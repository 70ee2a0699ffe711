package org.fulgurite.rdf4j.values;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.base.AbstractLiteral;
import org.eclipse.rdf4j.model.base.CoreDatatype;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/** A literal of a store. */
final class StoredLiteral extends AbstractLiteral implements StoredValue {
    private static final long serialVersionUID = 1L;
    private static final VarHandle LABEL = label();

    private final long id;
    private final transient IdScope scope;

    /**
     * The label; before the literal is read, the group that reads it. It is written after {@link #kind} and read before
     * it, with release and acquire, so a thread that sees a label sees its kind.
     */
    private transient Object label;

    /** The {@link Datatype}; for a text with a language the language. */
    private transient Object kind;

    StoredLiteral(long id, ValueGroup group) {
        this.id = id;
        this.scope = group.scope();
        this.label = group;
    }

    StoredLiteral(long id, IdScope scope, TermReader terms) {
        this.id = id;
        this.scope = scope;
        terms.literal(this);
    }

    private static VarHandle label() {
        try {
            return MethodHandles.lookup().findVarHandle(StoredLiteral.class, "label", Object.class);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("the field of the label is missing", error);
        }
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
        return !(LABEL.getAcquire(this) instanceof ValueGroup);
    }

    @Override
    public void read(TermReader terms) {
        terms.literal(this);
    }

    /** Sets what was read. The kind is a {@link Datatype} or a language. */
    void set(String newLabel, Object newKind) {
        kind = newKind;
        LABEL.setRelease(this, (Object) newLabel);
    }

    @Override
    public String getLabel() {
        Object known = LABEL.getAcquire(this);
        if (known instanceof ValueGroup) {
            ((ValueGroup) known).read(this);
            known = LABEL.getAcquire(this);
        }
        return (String) known;
    }

    /** Returns the kind. The literal is read by then. */
    private Object kind() {
        if (!isRead()) {
            getLabel();
        }
        return kind;
    }

    @Override
    public Optional<String> getLanguage() {
        Object known = kind();
        return known instanceof String ? Optional.of((String) known) : Optional.empty();
    }

    @Override
    public IRI getDatatype() {
        Object known = kind();
        return known instanceof String ? CoreDatatype.RDF.LANGSTRING.getIri() : ((Datatype) known).iri();
    }

    @Override
    public CoreDatatype getCoreDatatype() {
        Object known = kind();
        return known instanceof String ? CoreDatatype.RDF.LANGSTRING : ((Datatype) known).core();
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
        return simple();
    }

    /** Returns the same literal without an id. */
    private Literal simple() {
        ValueFactory values = SimpleValueFactory.getInstance();
        String text = getLabel();
        Object known = kind;
        if (known instanceof String) {
            return values.createLiteral(text, (String) known);
        }
        return known == Datatype.STRING
                ? values.createLiteral(text)
                : values.createLiteral(text, ((Datatype) known).iri());
    }
}
