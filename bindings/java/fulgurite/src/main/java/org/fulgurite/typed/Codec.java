package org.fulgurite.typed;

import java.util.Objects;
import java.util.function.Function;

/**
 * Encodes and decodes keys and values of a type. Encoded keys, compared as unsigned bytes, sort as the keys do. {@link
 * Codecs} has the codecs; {@link #map} makes one for a class of your own. Codecs have no state: threads can share them.
 *
 * @param <T> the Java class
 */
public abstract class Codec<T> {
    private final String typeName;

    Codec(String typeName) {
        this.typeName = typeName;
    }

    /**
     * Returns the name of the type, which a database records with each typed table, such as {@code (string,u32)}.
     *
     * @return the name
     */
    public final String typeName() {
        return typeName;
    }

    /** Appends a value. If it is not the last part of the encoding, its end must be recognizable. */
    abstract void write(Output out, T value, boolean isLast);

    /** Takes what {@link #write} has appended. */
    abstract T read(Input in, boolean isLast);

    private byte[] encode(T value, boolean isKey) {
        Output out = new Output(isKey);
        write(out, Objects.requireNonNull(value, isKey ? "key" : "value"), true);
        return out.bytes();
    }

    private T decode(byte[] bytes, boolean isKey) {
        Input in = new Input(bytes, isKey, typeName);
        T value = read(in, true);
        in.finish();
        return value;
    }

    /**
     * Returns the bytes under which a typed table stores a key.
     *
     * @param key the key
     * @return the bytes
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code INVALID} if it is outside of the type
     */
    public final byte[] encodeKey(T key) {
        return encode(key, true);
    }

    /**
     * Returns the key of these bytes.
     *
     * @param bytes the stored bytes
     * @return the key
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code DECODE} if no key of this type has these
     *     bytes
     */
    public final T decodeKey(byte[] bytes) {
        return decode(bytes, true);
    }

    /**
     * Returns the bytes that a typed table stores for a value.
     *
     * @param value the value
     * @return the bytes
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code INVALID} if it is outside of the type
     */
    public final byte[] encodeValue(T value) {
        return encode(value, false);
    }

    /**
     * Returns the value of these bytes.
     *
     * @param bytes the stored bytes
     * @return the value
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code DECODE} if no value of this type has these
     *     bytes
     */
    public final T decodeValue(byte[] bytes) {
        return decode(bytes, false);
    }

    /**
     * Returns a codec for another class, whose objects are converted to this type. For keys, the order is that of the
     * converted objects.
     *
     * <pre>{@code
     * Codec<Instant> time = Codecs.I64.map(Instant::ofEpochMilli, Instant::toEpochMilli);
     * }</pre>
     *
     * @param decoded makes an object from what is stored
     * @param encoded makes what is stored from an object
     * @param <U> the other class
     * @return the codec
     */
    public final <U> Codec<U> map(Function<? super T, ? extends U> decoded, Function<? super U, ? extends T> encoded) {
        Objects.requireNonNull(decoded, "decoded");
        Objects.requireNonNull(encoded, "encoded");
        Codec<T> stored = this;
        return new Codec<U>(typeName) {
            @Override
            void write(Output out, U value, boolean isLast) {
                stored.write(out, encoded.apply(value), isLast);
            }

            @Override
            U read(Input in, boolean isLast) {
                return decoded.apply(stored.read(in, isLast));
            }
        };
    }

    @Override
    public final String toString() {
        return typeName;
    }
}
