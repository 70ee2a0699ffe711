package org.fulgurite.typed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.Test;

class CodecsTest {
    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte value : bytes) {
            text.append(String.format("%02x", value));
        }
        return text.toString();
    }

    private static byte[] unhex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int index = 0; index < bytes.length; index++) {
            bytes[index] = (byte) Integer.parseInt(text.substring(2 * index, 2 * index + 2), 16);
        }
        return bytes;
    }

    private static <T> void key(Codec<T> codec, T key, String encoded) {
        assertEquals(encoded, hex(codec.encodeKey(key)), codec + " " + key);
        assertEquals(key, codec.decodeKey(unhex(encoded)));
    }

    private static <T> void value(Codec<T> codec, T value, String encoded) {
        assertEquals(encoded, hex(codec.encodeValue(value)), codec + " " + value);
        assertEquals(value, codec.decodeValue(unhex(encoded)));
    }

    /** The test vectors of the format, which all languages share: see the documentation of the crate fulgurite-keys. */
    @Test
    void keysHaveTheBytesOfTheFormat() {
        key(Codecs.U16, 0x0102, "0102");
        key(Codecs.U64, -1L, "ffffffffffffffff");
        key(Codecs.I32, Integer.MIN_VALUE, "00000000");
        key(Codecs.I32, -1, "7fffffff");
        key(Codecs.I32, 0, "80000000");
        key(Codecs.I8, Byte.MAX_VALUE, "ff");
        key(Codecs.I128, BigInteger.valueOf(-2), "7ffffffffffffffffffffffffffffffe");
        key(Codecs.BOOL, true, "01");
        key(Codecs.CHAR, (int) 'é', "000000e9");
        key(Codecs.F64, 0.0, "8000000000000000");
        key(Codecs.F64, -0.0, "7fffffffffffffff");
        key(Codecs.F64, 1.5, "bff8000000000000");
        key(Codecs.F64, -1.5, "4007ffffffffffff");
        key(Codecs.F64, Double.NEGATIVE_INFINITY, "000fffffffffffff");
        key(Codecs.F64, Double.NaN, "fff8000000000000");
        key(Codecs.F32, 1.0f, "bf800000");
        assertArrayEquals(new byte[] {1, 0, -1}, Codecs.bytes(3).encodeKey(new byte[] {1, 0, -1}));
        key(Codecs.STRING, "a\0b", "610062");
        key(Codecs.pair(Codecs.STRING, Codecs.U8), Pair.of("a\0b", (short) 7), "6100ff62000007");
        key(Codecs.pair(Codecs.U8, Codecs.STRING), Pair.of((short) 7, "a\0b"), "07610062");
        key(Codecs.pair(Codecs.STRING, Codecs.STRING), Pair.of("", ""), "0000");
        PairCodec<Short, String> inner = Codecs.pair(Codecs.U8, Codecs.STRING);
        key(Codecs.pair(inner, Codecs.U8), Pair.of(Pair.of((short) 1, "x"), (short) 2), "0178000002");
        key(Codecs.option(Codecs.U8), Optional.<Short>empty(), "00");
        key(Codecs.option(Codecs.STRING), Optional.of("x"), "0178");
        PairCodec<Optional<String>, Short> some = Codecs.pair(Codecs.option(Codecs.STRING), Codecs.U8);
        key(some, Pair.of(Optional.of("x"), (short) 1), "0178000001");
        key(some, Pair.of(Optional.empty(), (short) 1), "0001");
    }

    @Test
    void valuesHaveTheBytesOfTheFormat() {
        value(Codecs.U16, 0x0102, "0201");
        value(Codecs.I64, -2L, "feffffffffffffff");
        value(Codecs.F64, 1.5, "000000000000f83f");
        value(Codecs.CHAR, (int) 'é', "e9000000");
        value(Codecs.STRING, "text", "74657874");
        value(Codecs.pair(Codecs.STRING, Codecs.U8), Pair.of("text", (short) 7), "040000007465787407");
        value(Codecs.pair(Codecs.U8, Codecs.option(Codecs.STRING)), Pair.of((short) 7, Optional.of("text")), "070174657874");
        value(Codecs.I128, BigInteger.valueOf(-2), "feffffffffffffffffffffffffffffff");
        value(Codecs.U128, BigInteger.ONE.shiftLeft(128).subtract(BigInteger.ONE), "ffffffffffffffffffffffffffffffff");
    }

    @Test
    void typesHaveTheNamesThatDatabasesRecord() {
        assertEquals(
                "(option<string>,bytes[16],(u32,f64),bytes)",
                Codecs.tuple(
                                Codecs.option(Codecs.STRING),
                                Codecs.UUIDS,
                                Codecs.pair(Codecs.U32, Codecs.F64),
                                Codecs.BYTES)
                        .typeName());
    }

    private static int compareBytes(byte[] left, byte[] right) {
        for (int index = 0; index < Math.min(left.length, right.length); index++) {
            int order = Integer.compare(left[index] & 0xFF, right[index] & 0xFF);
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(left.length, right.length);
    }

    private static int compareScalars(String left, String right) {
        int[] first = left.codePoints().toArray();
        int[] second = right.codePoints().toArray();
        for (int index = 0; index < Math.min(first.length, second.length); index++) {
            if (first[index] != second[index]) {
                return Integer.compare(first[index], second[index]);
            }
        }
        return Integer.compare(first.length, second.length);
    }

    private static <T> void sorted(Codec<T> codec, List<T> keys, Comparator<T> order) {
        for (T left : keys) {
            assertEquals(left, codec.decodeKey(codec.encodeKey(left)));
            assertEquals(left, codec.decodeValue(codec.encodeValue(left)));
            for (T right : keys) {
                int bytes = compareBytes(codec.encodeKey(left), codec.encodeKey(right));
                assertEquals(
                        Integer.signum(order.compare(left, right)), Integer.signum(bytes), codec + " " + left + " " + right);
            }
        }
    }

    @Test
    void keysSortAsTheirTypeDoes() {
        Random random = new Random(3);
        List<Long> longs = new ArrayList<>(Arrays.asList(Long.MIN_VALUE, -1L, 0L, 1L, Long.MAX_VALUE));
        List<Double> doubles = new ArrayList<>(Arrays.asList(
                -0.0, 0.0, Double.MIN_VALUE, -Double.MIN_VALUE, Double.POSITIVE_INFINITY, Double.NaN));
        List<BigInteger> large = new ArrayList<>();
        List<String> texts = new ArrayList<>(Arrays.asList("", "\0", "\0\0", "a", "a\0", "\uFFFD", "\uD83D\uDE00"));
        List<Pair<String, Long>> pairs = new ArrayList<>();
        for (int turn = 0; turn < 40; turn++) {
            longs.add(random.nextLong() >> random.nextInt(64));
            doubles.add(random.nextGaussian() * Math.pow(10, random.nextInt(20) - 10));
            large.add(new BigInteger(random.nextInt(127), random).multiply(BigInteger.valueOf(random.nextInt(3) - 1)));
            StringBuilder text = new StringBuilder();
            for (int length = random.nextInt(4); length > 0; length--) {
                text.append((char) random.nextInt(3));
            }
            texts.add(text.toString());
            pairs.add(Pair.of(text.toString(), (long) random.nextInt(3) - 1));
        }
        sorted(Codecs.I64, longs, Comparator.naturalOrder());
        sorted(Codecs.U64, longs, Long::compareUnsigned);
        sorted(Codecs.F64, doubles, Double::compare);
        sorted(Codecs.I128, large, Comparator.naturalOrder());
        Comparator<String> byScalars = CodecsTest::compareScalars;
        sorted(Codecs.STRING, texts, byScalars);
        Comparator<Pair<String, Long>> byBoth = Comparator.comparing((Pair<String, Long> pair) -> pair.first(), byScalars)
                .thenComparing(Pair::second);
        sorted(Codecs.pair(Codecs.STRING, Codecs.I64), pairs, byBoth);
    }

    @Test
    void ownClassesAreMapped() {
        Codec<Instant> time = Codecs.I64.map(Instant::ofEpochMilli, Instant::toEpochMilli);
        Instant now = Instant.ofEpochMilli(1_700_000_000_123L);
        assertEquals(now, time.decodeKey(time.encodeKey(now)));
        assertEquals("i64", time.typeName());
        UUID uuid = UUID.fromString("f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
        key(Codecs.UUIDS, uuid, "f81d4fae7dec11d0a76500a0c91e6bf6");
    }

    private static void refused(ErrorKind kind, org.junit.jupiter.api.function.Executable call) {
        FulguriteException error = assertThrows(FulguriteException.class, call);
        assertEquals(kind, error.kind(), error.getMessage());
    }

    @Test
    void whatHasNoEncodingIsRefused() {
        refused(ErrorKind.INVALID, () -> Codecs.U8.encodeKey((short) 256));
        refused(ErrorKind.INVALID, () -> Codecs.U32.encodeKey(-1L));
        refused(ErrorKind.INVALID, () -> Codecs.U128.encodeKey(BigInteger.valueOf(-1)));
        refused(ErrorKind.INVALID, () -> Codecs.I128.encodeKey(BigInteger.ONE.shiftLeft(127)));
        refused(ErrorKind.INVALID, () -> Codecs.CHAR.encodeKey(0xD800));
        refused(ErrorKind.INVALID, () -> Codecs.STRING.encodeKey("\uD800"));
        refused(ErrorKind.INVALID, () -> Codecs.bytes(3).encodeKey(new byte[4]));
        refused(ErrorKind.INVALID, () -> Codecs.tuple());
        TupleCodec tuple = Codecs.tuple(Codecs.STRING, Codecs.I32);
        refused(ErrorKind.INVALID, () -> tuple.encodeKey(Arrays.asList("a")));
        refused(ErrorKind.INVALID, () -> tuple.encodeKey(Arrays.asList("a", 5L)));
        refused(ErrorKind.INVALID, () -> tuple.startingWith("a", 5));
        assertThrows(NullPointerException.class, () -> Codecs.STRING.encodeKey(null));
        assertThrows(NullPointerException.class, () -> tuple.encodeKey(Arrays.asList("a", null)));
    }

    @Test
    void bytesOfNoKeyAreRefused() {
        PairCodec<String, Boolean> pair = Codecs.pair(Codecs.STRING, Codecs.BOOL);
        for (String malformed : new String[] {"", "61", "6100", "610001", "61000002", "6100000000", "ff000000"}) {
            refused(ErrorKind.DECODE, () -> pair.decodeKey(unhex(malformed)));
        }
        refused(ErrorKind.DECODE, () -> pair.decodeValue(unhex("ffffffff6101")));
        refused(ErrorKind.DECODE, () -> Codecs.CHAR.decodeKey(unhex("0000d800")));
        refused(ErrorKind.DECODE, () -> Codecs.I64.decodeKey(unhex("00")));
        FulguriteException error = assertThrows(FulguriteException.class, () -> Codecs.I64.decodeValue(unhex("00")));
        assertTrue(error.getMessage().contains("i64"), error.getMessage());
    }
}
