package org.fulgurite.typed;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import org.fulgurite.internal.Exceptions;

/**
 * The codecs of all types. The encodings are those of Fulgurite's typed tables in all languages. A value that is not in
 * the range of the type is an error of the kind {@code INVALID}.
 *
 * <table>
 * <caption>Types</caption>
 * <tr><th>type</th><th>Java class</th><th>order of keys</th></tr>
 * <tr><td>{@code i8} to {@code i64}</td><td>Byte, Short, Integer, Long</td><td>numeric</td></tr>
 * <tr><td>{@code u8}, {@code u16}, {@code u32}</td><td>Short, Integer, Long</td><td>numeric</td></tr>
 * <tr><td>{@code u64}</td><td>Long, whose bits are read as unsigned</td><td>{@link Long#compareUnsigned}</td></tr>
 * <tr><td>{@code i128}, {@code u128}</td><td>BigInteger</td><td>numeric</td></tr>
 * <tr><td>{@code bool}</td><td>Boolean</td><td>false first</td></tr>
 * <tr><td>{@code char}</td><td>Integer, a Unicode scalar value</td><td>numeric</td></tr>
 * <tr><td>{@code f32}, {@code f64}</td><td>Float, Double</td><td>numeric, −0 before 0, NaN last, but first with the sign bit set</td></tr>
 * <tr><td>{@code string}</td><td>String</td><td>by Unicode scalar values</td></tr>
 * <tr><td>{@code bytes}, {@code bytes[N]}</td><td>byte[]</td><td>by unsigned bytes</td></tr>
 * <tr><td>{@code bytes[16]}</td><td>UUID</td><td>by unsigned bytes</td></tr>
 * <tr><td>{@code option<T>}</td><td>Optional</td><td>empty first</td></tr>
 * <tr><td>{@code (A,B)}</td><td>{@link Pair}</td><td>by the first, then the second</td></tr>
 * <tr><td>{@code (A,B,…)}</td><td>List of Object</td><td>by the first element that differs</td></tr>
 * </table>
 */
public final class Codecs {
    private Codecs() {}

    /** Writes a number of a fixed width. */
    private interface Writer<T> {
        void write(Output out, T value);
    }

    /** Reads a number of a fixed width. */
    private interface Reader<T> {
        T read(Input in);
    }

    /** A type whose encoding has the same width for all values. */
    private static final class Fixed<T> extends Codec<T> {
        private final Writer<T> writer;
        private final Reader<T> reader;

        Fixed(String typeName, Writer<T> writer, Reader<T> reader) {
            super(typeName);
            this.writer = writer;
            this.reader = reader;
        }

        @Override
        void write(Output out, T value, boolean isLast) {
            writer.write(out, value);
        }

        @Override
        T read(Input in, boolean isLast) {
            return reader.read(in);
        }
    }

    /** The bit that keys of signed numbers flip, so that negative numbers sort first. */
    private static int sign(boolean isKey, int bit) {
        return isKey ? bit : 0;
    }

    private static long longSign(boolean isKey) {
        return isKey ? Long.MIN_VALUE : 0;
    }

    private static long checked(String type, long value, long max) {
        if (value < 0 || value > max) {
            throw Exceptions.invalid(value + " is out of the range of " + type + ", which is 0 to " + max);
        }
        return value;
    }

    /** The type {@code i8}. */
    public static final Codec<Byte> I8 = new Fixed<>(
            "i8",
            (out, value) -> out.putByte(value ^ sign(out.isKey, 0x80)),
            in -> (byte) (in.takeByte() ^ sign(in.isKey(), 0x80)));

    /** The type {@code i16}. */
    public static final Codec<Short> I16 = new Fixed<>(
            "i16",
            (out, value) -> out.putShort(value ^ sign(out.isKey, 0x8000)),
            in -> (short) (in.takeShort() ^ sign(in.isKey(), 0x8000)));

    /** The type {@code i32}. */
    public static final Codec<Integer> I32 = new Fixed<>(
            "i32",
            (out, value) -> out.putInt(value ^ sign(out.isKey, Integer.MIN_VALUE)),
            in -> in.takeInt() ^ sign(in.isKey(), Integer.MIN_VALUE));

    /** The type {@code i64}. */
    public static final Codec<Long> I64 = new Fixed<>(
            "i64",
            (out, value) -> out.putLong(value ^ longSign(out.isKey)),
            in -> in.takeLong() ^ longSign(in.isKey()));

    /** The type {@code u8}: 0 to 255. */
    public static final Codec<Short> U8 = new Fixed<>(
            "u8",
            (out, value) -> out.putByte((int) checked("u8", value, 0xFF)),
            in -> (short) (in.takeByte() & 0xFF));

    /** The type {@code u16}: 0 to 65,535. */
    public static final Codec<Integer> U16 = new Fixed<>(
            "u16",
            (out, value) -> out.putShort((int) checked("u16", value, 0xFFFF)),
            in -> in.takeShort() & 0xFFFF);

    /** The type {@code u32}: 0 to 4,294,967,295. */
    public static final Codec<Long> U32 = new Fixed<>(
            "u32",
            (out, value) -> out.putInt((int) checked("u32", value, 0xFFFF_FFFFL)),
            in -> in.takeInt() & 0xFFFF_FFFFL);

    /** The type {@code u64}. A negative long is a number above {@link Long#MAX_VALUE}: see {@link Long#toUnsignedString}. */
    public static final Codec<Long> U64 = new Fixed<>("u64", (out, value) -> out.putLong(value), Input::takeLong);

    /** The type {@code i128}. */
    public static final Codec<BigInteger> I128 = new Fixed<>("i128", Codecs::putSigned, Codecs::takeSigned);

    /** The type {@code u128}. */
    public static final Codec<BigInteger> U128 = new Fixed<>("u128", Codecs::putUnsigned, Codecs::takeUnsigned);

    /** The type {@code bool}. */
    public static final Codec<Boolean> BOOL =
            new Fixed<>("bool", (out, value) -> out.putByte(value ? 1 : 0), in -> in.takeTag("bool"));

    /** The type {@code char}: a Unicode scalar value, which is a code point that is not a surrogate. */
    public static final Codec<Integer> CHAR = new Fixed<>("char", Codecs::putScalar, Codecs::takeScalar);

    /** The type {@code f32}. */
    public static final Codec<Float> F32 = new Fixed<>(
            "f32",
            (out, value) -> out.putInt(ordered(out.isKey, Float.floatToRawIntBits(value))),
            in -> Float.intBitsToFloat(unordered(in.isKey(), in.takeInt())));

    /** The type {@code f64}. */
    public static final Codec<Double> F64 = new Fixed<>(
            "f64",
            (out, value) -> out.putLong(ordered(out.isKey, Double.doubleToRawLongBits(value))),
            in -> Double.longBitsToDouble(unordered(in.isKey(), in.takeLong())));

    /** The type {@code string}: text of any length. */
    public static final Codec<String> STRING = new Codec<String>("string") {
        @Override
        void write(Output out, String value, boolean isLast) {
            out.putText(utf8(value), isLast);
        }

        @Override
        String read(Input in, boolean isLast) {
            byte[] bytes = in.takeText(isLast);
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException error) {
                throw in.malformed("it is not UTF-8");
            }
        }
    };

    /** The type {@code bytes}: bytes of any length. */
    public static final Codec<byte[]> BYTES = new Codec<byte[]>("bytes") {
        @Override
        void write(Output out, byte[] value, boolean isLast) {
            out.putText(value, isLast);
        }

        @Override
        byte[] read(Input in, boolean isLast) {
            return in.takeText(isLast);
        }
    };

    /** The type {@code bytes[16]}, for UUIDs. Keys sort as the text of the UUIDs does. */
    public static final Codec<UUID> UUIDS = bytes(16).map(
            bytes -> {
                ByteBuffer buffer = ByteBuffer.wrap(bytes);
                return new UUID(buffer.getLong(), buffer.getLong());
            },
            uuid -> ByteBuffer.allocate(16)
                    .putLong(uuid.getMostSignificantBits())
                    .putLong(uuid.getLeastSignificantBits())
                    .array());

    /**
     * Returns the codec of {@code bytes[N]}: exactly this many bytes.
     *
     * @param length the number of bytes, at most 64 MiB
     * @return the codec
     */
    public static Codec<byte[]> bytes(int length) {
        if (length < 0 || length > BYTE_ARRAY_MAX) {
            throw Exceptions.invalid("an array has 0 to " + BYTE_ARRAY_MAX + " bytes, not " + length);
        }
        String name = "bytes[" + length + "]";
        Writer<byte[]> writer = (out, value) -> {
            if (value.length != length) {
                throw Exceptions.invalid("an array of " + value.length + " bytes is not of the type " + name);
            }
            out.putBytes(value);
        };
        return new Fixed<>(name, writer, in -> in.takeBytes(length));
    }

    /**
     * Returns the codec of {@code option<T>}: a value, or nothing.
     *
     * @param codec the type of the value
     * @param <T> the class of the value
     * @return the codec
     */
    public static <T> Codec<Optional<T>> option(Codec<T> codec) {
        return new Codec<Optional<T>>("option<" + codec.typeName() + ">") {
            @Override
            void write(Output out, Optional<T> value, boolean isLast) {
                out.putByte(value.isPresent() ? 1 : 0);
                if (value.isPresent()) {
                    codec.write(out, value.get(), isLast);
                }
            }

            @Override
            Optional<T> read(Input in, boolean isLast) {
                return in.takeTag("option") ? Optional.of(codec.read(in, isLast)) : Optional.empty();
            }
        };
    }

    /**
     * Returns a codec of pairs.
     *
     * @param first the type of the first element
     * @param second the type of the second element
     * @param <A> the class of the first element
     * @param <B> the class of the second element
     * @return the codec
     */
    public static <A, B> PairCodec<A, B> pair(Codec<A> first, Codec<B> second) {
        return new PairCodec<>(first, second);
    }

    /**
     * Returns a codec of lists with elements of these types. Use {@link Codec#map} to convert the lists to a class of
     * your own.
     *
     * @param elements the types of the elements, one to eight
     * @return the codec
     */
    public static TupleCodec tuple(Codec<?>... elements) {
        return new TupleCodec(elements);
    }

    private static final int BYTE_ARRAY_MAX = 64 << 20;

    private static byte[] utf8(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.remaining());
        } catch (CharacterCodingException error) {
            throw Exceptions.invalid("a string has a surrogate without its partner, so it cannot be encoded as UTF-8");
        }
    }

    /** Bits that sort as the numbers do: all bits of negative numbers are flipped, and the sign of the others. */
    private static int ordered(boolean isKey, int bits) {
        return isKey ? bits ^ (bits >> 31 | Integer.MIN_VALUE) : bits;
    }

    private static int unordered(boolean isKey, int bits) {
        return isKey ? bits ^ (~bits >> 31 | Integer.MIN_VALUE) : bits;
    }

    private static long ordered(boolean isKey, long bits) {
        return isKey ? bits ^ (bits >> 63 | Long.MIN_VALUE) : bits;
    }

    private static long unordered(boolean isKey, long bits) {
        return isKey ? bits ^ (~bits >> 63 | Long.MIN_VALUE) : bits;
    }

    private static void putHalves(Output out, long high, long low) {
        out.putLong(out.isKey ? high : low);
        out.putLong(out.isKey ? low : high);
    }

    /** Takes both halves, the higher one first. */
    private static BigInteger takeHalves(Input in, long signBit) {
        long first = in.takeLong();
        long second = in.takeLong();
        long high = in.isKey() ? first : second;
        long low = in.isKey() ? second : first;
        return new BigInteger(ByteBuffer.allocate(16).putLong(high ^ signBit).putLong(low).array());
    }

    private static void putSigned(Output out, BigInteger value) {
        if (value.bitLength() > 127) {
            throw Exceptions.invalid(value + " is out of the range of i128");
        }
        putHalves(out, value.shiftRight(64).longValue() ^ longSign(out.isKey), value.longValue());
    }

    private static BigInteger takeSigned(Input in) {
        return takeHalves(in, longSign(in.isKey()));
    }

    private static void putUnsigned(Output out, BigInteger value) {
        if (value.signum() < 0 || value.bitLength() > 128) {
            throw Exceptions.invalid(value + " is out of the range of u128");
        }
        putHalves(out, value.shiftRight(64).longValue(), value.longValue());
    }

    private static BigInteger takeUnsigned(Input in) {
        BigInteger signed = takeHalves(in, 0);
        return signed.signum() < 0 ? signed.add(BigInteger.ONE.shiftLeft(128)) : signed;
    }

    private static boolean isScalar(int value) {
        return Character.isValidCodePoint(value) && (value < Character.MIN_SURROGATE || value > Character.MAX_SURROGATE);
    }

    private static void putScalar(Output out, int value) {
        if (!isScalar(value)) {
            throw Exceptions.invalid("0x" + Integer.toHexString(value) + " is not a Unicode scalar value");
        }
        out.putInt(value);
    }

    private static int takeScalar(Input in) {
        int value = in.takeInt();
        if (!isScalar(value)) {
            throw in.malformed("0x" + Integer.toHexString(value) + " is not a Unicode scalar value");
        }
        return value;
    }
}
