package org.fulgurite.typed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.fulgurite.KeyRange;
import org.fulgurite.internal.Exceptions;

/** A codec of lists with one to eight elements of given types. They are ordered by the first element that differs. */
public final class TupleCodec extends Codec<List<Object>> {
    private static final int ELEMENTS_MAX = 8;

    private final List<Codec<?>> elements;

    TupleCodec(Codec<?>... elements) {
        super(Arrays.stream(elements).map(Codec::typeName).collect(Collectors.joining(",", "(", ")")));
        if (elements.length == 0 || elements.length > ELEMENTS_MAX) {
            throw Exceptions.invalid(
                    "a tuple has 1 to " + ELEMENTS_MAX + " elements, not " + elements.length + "; nest tuples for more");
        }
        this.elements = Collections.unmodifiableList(new ArrayList<>(Arrays.asList(elements)));
    }

    @Override
    void write(Output out, List<Object> value, boolean isLast) {
        if (value.size() != elements.size()) {
            throw Exceptions.invalid("the type " + typeName() + " has " + elements.size() + " elements, not " + value.size());
        }
        writeFirst(out, value, isLast);
    }

    private void writeFirst(Output out, List<?> values, boolean isLast) {
        for (int index = 0; index < values.size(); index++) {
            boolean isEnd = isLast && index + 1 == elements.size();
            writeElement(out, elements.get(index), Objects.requireNonNull(values.get(index), "element"), isEnd);
        }
    }

    @SuppressWarnings("unchecked")
    private <T> void writeElement(Output out, Codec<T> codec, Object value, boolean isLast) {
        try {
            codec.write(out, (T) value, isLast);
        } catch (ClassCastException error) {
            throw Exceptions.invalid("a " + value.getClass().getName() + " is not of the type " + codec.typeName());
        }
    }

    @Override
    List<Object> read(Input in, boolean isLast) {
        List<Object> values = new ArrayList<>(elements.size());
        for (int index = 0; index < elements.size(); index++) {
            values.add(elements.get(index).read(in, isLast && index + 1 == elements.size()));
        }
        return values;
    }

    /**
     * Returns the range of all keys with these first elements.
     *
     * @param values the first elements, fewer than the type has
     * @return the range
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code INVALID} if there are as many elements as
     *     the type has, or one is not of its type
     */
    public KeyRange startingWith(Object... values) {
        if (values.length >= elements.size()) {
            throw Exceptions.invalid(
                    values.length + " elements are a whole key of the type " + typeName() + ", not its beginning");
        }
        Output out = new Output(true);
        writeFirst(out, Arrays.asList(values), false);
        return KeyRange.prefix(out.bytes());
    }
}
