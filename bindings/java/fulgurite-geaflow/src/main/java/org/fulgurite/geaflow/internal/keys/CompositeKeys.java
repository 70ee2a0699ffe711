package org.fulgurite.geaflow.internal.keys;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Keys of two parts, in the form of {@code fulgurite::keys}: in the first part, each zero byte is followed by 0xFF, and
 * two zero bytes end it. The second part follows.
 */
public final class CompositeKeys {
    private static final byte ESCAPED_ZERO = (byte) 0xFF;

    private CompositeKeys() {}

    /** Returns the beginning of all keys with this first part. */
    public static byte[] prefix(byte[] first) {
        int zeros = 0;
        for (byte octet : first) {
            zeros += octet == 0 ? 1 : 0;
        }
        byte[] prefix = new byte[first.length + zeros + 2];
        int end = 0;
        for (byte octet : first) {
            prefix[end++] = octet;
            if (octet == 0) {
                prefix[end++] = ESCAPED_ZERO;
            }
        }
        return prefix;
    }

    /** Returns where the first part of a key ends, after its two zero bytes. */
    public static int prefixLength(byte[] key) {
        for (int at = 0; at + 1 < key.length; at++) {
            if (key[at] == 0) {
                if (key[at + 1] == 0) {
                    return at + 2;
                }
                at++;
            }
        }
        throw new IllegalArgumentException("the first part of a key of " + key.length + " bytes has no end");
    }

    /** Returns the first part of a key. */
    public static byte[] first(byte[] key) {
        byte[] first = new byte[prefixLength(key) - 2];
        int length = 0;
        for (int at = 0; at < first.length; at++) {
            first[length++] = key[at];
            if (key[at] == 0) {
                at++;
            }
        }
        return Arrays.copyOf(first, length);
    }

    /** Returns a key whose second part is a byte string. */
    public static byte[] key(byte[] prefix, byte[] second) {
        byte[] key = Arrays.copyOf(prefix, prefix.length + second.length);
        System.arraycopy(second, 0, key, prefix.length, second.length);
        return key;
    }

    /** Returns a key whose second part is a number. */
    public static byte[] key(byte[] prefix, long number) {
        return ByteBuffer.allocate(prefix.length + Long.BYTES).put(prefix).putLong(number).array();
    }

    /** Returns the second part of a key. */
    public static byte[] second(byte[] prefix, byte[] key) {
        return Arrays.copyOfRange(key, prefix.length, key.length);
    }

    /** Returns the second part of a key, which is a number. */
    public static long number(byte[] prefix, byte[] key) {
        return ByteBuffer.wrap(key).getLong(prefix.length);
    }
}
