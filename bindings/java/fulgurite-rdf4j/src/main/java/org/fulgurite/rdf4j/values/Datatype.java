package org.fulgurite.rdf4j.values;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.base.CoreDatatype;
import org.eclipse.rdf4j.model.base.CoreDatatype.XSD;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;

/** A datatype of literals. Common ones cross between Java and the native library as a number. */
final class Datatype {
    /** In the order of {@code DATATYPES} in {@code crates/java/src/quads/objects/terms.rs}. */
    private static final XSD[] NUMBERED = {
        XSD.INTEGER,
        XSD.DECIMAL,
        XSD.DOUBLE,
        XSD.DATE,
        XSD.DATETIME,
        XSD.BOOLEAN,
        XSD.FLOAT,
        XSD.INT,
        XSD.LONG,
        XSD.GYEAR,
        XSD.ANYURI,
        XSD.TIME,
        XSD.DURATION,
        XSD.DAYTIMEDURATION,
        XSD.YEARMONTHDURATION,
        XSD.DATETIMESTAMP,
        XSD.GYEARMONTH,
        XSD.GMONTH,
        XSD.GMONTHDAY,
        XSD.GDAY,
        XSD.SHORT,
        XSD.BYTE,
        XSD.NON_NEGATIVE_INTEGER,
        XSD.POSITIVE_INTEGER,
        XSD.UNSIGNED_LONG,
        XSD.UNSIGNED_INT,
        XSD.UNSIGNED_SHORT,
        XSD.UNSIGNED_BYTE,
        XSD.HEXBINARY,
        XSD.BASE64BINARY
    };

    private static final int NO_NUMBER = -1;
    private static final int OTHERS_MAX = 1024;

    /** That of texts without a language. */
    static final Datatype STRING = new Datatype(XSD.STRING.getIri(), XSD.STRING);

    private static final Datatype[] BY_NUMBER = byNumber();

    /** The numbers of the constants of {@link XSD}, by their ordinals. */
    private static final int[] NUMBERS = numbers();

    /** Datatypes without a number, which repeat much. */
    private static final Map<String, Datatype> OTHERS = new ConcurrentHashMap<>();

    private final IRI iri;
    private final CoreDatatype core;

    private Datatype(IRI iri, CoreDatatype core) {
        this.iri = iri;
        this.core = core;
    }

    private static Datatype[] byNumber() {
        Datatype[] datatypes = new Datatype[NUMBERED.length];
        for (int number = 0; number < datatypes.length; number++) {
            String iri = NUMBERED[number].getIri().stringValue();
            datatypes[number] = new Datatype(SimpleValueFactory.getInstance().createIRI(iri), NUMBERED[number]);
        }
        return datatypes;
    }

    private static int[] numbers() {
        int[] numbers = new int[XSD.values().length];
        java.util.Arrays.fill(numbers, NO_NUMBER);
        for (int number = 0; number < NUMBERED.length; number++) {
            numbers[NUMBERED[number].ordinal()] = number;
        }
        return numbers;
    }

    /** Returns the datatype with this number. */
    static Datatype numbered(int number) {
        return BY_NUMBER[number];
    }

    /** Returns the number of a datatype, or a negative number if it has none. */
    static int numberOf(CoreDatatype datatype) {
        return datatype instanceof XSD ? NUMBERS[((XSD) datatype).ordinal()] : NO_NUMBER;
    }

    /** Returns the datatype with this IRI. */
    static Datatype of(String text) {
        Datatype known = OTHERS.get(text);
        if (known == null) {
            IRI iri = SimpleValueFactory.getInstance().createIRI(text);
            known = new Datatype(iri, CoreDatatype.from(iri));
            if (OTHERS.size() >= OTHERS_MAX) {
                OTHERS.clear();
            }
            OTHERS.put(text, known);
        }
        return known;
    }

    IRI iri() {
        return iri;
    }

    CoreDatatype core() {
        return core;
    }
}
