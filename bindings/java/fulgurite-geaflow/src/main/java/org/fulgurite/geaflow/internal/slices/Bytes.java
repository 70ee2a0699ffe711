package org.fulgurite.geaflow.internal.slices;

import java.util.Arrays;

/** Byte strings. */
public final class Bytes {
    public static final byte[] NONE = {};

    private Bytes() {}

    public static byte[] concat(byte[] first, byte[] second) {
        if (first.length == 0) {
            return second;
        }
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    /** Compares the beginnings of byte strings, byte by byte without signs. */
    public static int compare(byte[] left, int leftLength, byte[] right, int rightLength) {
        int common = Math.min(leftLength, rightLength);
        for (int at = 0; at < common; at++) {
            if (left[at] != right[at]) {
                return (left[at] & 0xFF) - (right[at] & 0xFF);
            }
        }
        return leftLength - rightLength;
    }

    /** Compares byte strings. */
    public static int compareWhole(byte[] left, byte[] right) {
        return compare(left, left.length, right, right.length);
    }

    /** Returns whether both have the same first bytes. */
    public static boolean isSame(byte[] left, byte[] right, int length) {
        return left.length >= length && right.length >= length && compare(left, length, right, length) == 0;
    }

    /** Returns the first byte string after all that have this beginning; null if there is none. */
    public static byte[] after(byte[] bytes, int length) {
        byte[] after = Arrays.copyOf(bytes, length);
        for (int last = length - 1; last >= 0; last--) {
            if (++after[last] != 0) {
                return Arrays.copyOf(after, last + 1);
            }
        }
        return null;
    }
}
