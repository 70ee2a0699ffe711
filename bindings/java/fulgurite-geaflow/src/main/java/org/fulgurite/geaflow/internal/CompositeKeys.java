package org.fulgurite.geaflow.internal;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Keys of two parts, in the form of {@code fulgurite::keys}: in the first part, each zero byte is followed by 0xFF, and
 * two zero bytes end it. The second part follows.
 */
final class CompositeKeys {
    private static final byte ESCAPED_ZERO = (byte) 0xFF;

    private CompositeKeys() {}

    /** Returns the beginning of all keys with this first part. */
    static byte[] prefix(byte[] first) {
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

    /** Returns a key whose second part is a byte string. */
    static byte[] key(byte[] prefix, byte[] second) {
        byte[] key = Arrays.copyOf(prefix, prefix.length + second.length);
        System.arraycopy(second, 0, key, prefix.length, second.length);
        return key;
    }

    /** Returns a key whose second part is a number. */
    static byte[] key(byte[] prefix, long number) {
        return ByteBuffer.allocate(prefix.length + Long.BYTES).put(prefix).putLong(number).array();
    }

    /** Returns the second part of a key. */
    static byte[] second(byte[] prefix, byte[] key) {
        return Arrays.copyOfRange(key, prefix.length, key.length);
    }

    /** Returns the second part of a key, which is a number. */
    static long number(byte[] prefix, byte[] key) {
        return ByteBuffer.wrap(key).getLong(prefix.length);
    }
}
