package org.fulgurite.geaflow.internal.graph;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.apache.geaflow.common.config.keys.StateConfigKeys;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.geaflow.internal.keys.CompositeKeys;

/**
 * How the bytes of an id begin the keys of its vertex and its edges. The beginning of one id is never a prefix of that
 * of another one. So vertices and edges have the same order, and both can be read side by side. GeaFlow's own keys end
 * an id with two bytes that an id may contain too.
 */
abstract class IdKeys {
    private static final Set<Class<?>> OF_FIXED_LENGTH = Collections.unmodifiableSet(new HashSet<>(
            Arrays.asList(Byte.class, Short.class, Integer.class, Long.class, Float.class, Double.class)));

    /** The keys of ids of a type. */
    static IdKeys of(Class<?> type) {
        return OF_FIXED_LENGTH.contains(type) ? new Fixed(type) : new Escaped(type);
    }

    /** Returns a description, which the file of a shard has. */
    @Override
    public abstract String toString();

    /** Returns the beginning of all keys of an id. */
    abstract byte[] beginning(byte[] id);

    /** Returns where the beginning ends. */
    abstract int end(byte[] key);

    /** Returns the id. */
    abstract byte[] id(byte[] key);

    /** Returns where the parts of the key of an edge after its source begin. */
    abstract int endOfSource(byte[] key);

    /** Returns the key of an edge from the one of GeaFlow's encoder. */
    abstract byte[] ofEdge(byte[] source, byte[] encoded);

    /** Returns the key of GeaFlow's encoder. The given array may be changed. */
    abstract byte[] encodedEdge(byte[] key);

    /** A user's encoder may write other keys. */
    private static void checkSource(byte[] source, byte[] encoded) {
        int end = source.length + StateConfigKeys.DELIMITER.length;
        boolean begins = end <= encoded.length;
        for (int at = 0; begins && at < end; at++) {
            byte expected = at < source.length ? source[at] : StateConfigKeys.DELIMITER[at - source.length];
            begins = encoded[at] == expected;
        }
        if (!begins) {
            throw new GeaflowRuntimeException(
                    "the encoder of edges must begin keys with the source and the delimiter "
                            + "(geaflow.state.kv.encoder.class)");
        }
    }

    /** All ids have the same number of bytes, so they need no terminator. */
    private static final class Fixed extends IdKeys {
        private final String name;
        private final int length;

        Fixed(Class<?> type) {
            name = type.getName();
            length = type == Byte.class
                    ? Byte.BYTES
                    : type == Short.class
                            ? Short.BYTES
                            : type == Integer.class || type == Float.class ? Integer.BYTES : Long.BYTES;
        }

        @Override
        byte[] beginning(byte[] id) {
            if (id.length != length) {
                throw new GeaflowRuntimeException("ids of the type " + name + " must have " + length
                        + " bytes, and the type of ids of the graph makes " + id.length
                        + "; use GeaFlow's type of ids, or one of another class");
            }
            return id;
        }

        @Override
        public String toString() {
            return name;
        }

        @Override
        int end(byte[] key) {
            return length;
        }

        @Override
        byte[] id(byte[] key) {
            return Arrays.copyOf(key, length);
        }

        @Override
        int endOfSource(byte[] key) {
            return length + StateConfigKeys.DELIMITER.length;
        }

        @Override
        byte[] ofEdge(byte[] source, byte[] encoded) {
            checkSource(beginning(source), encoded);
            return encoded;
        }

        @Override
        byte[] encodedEdge(byte[] key) {
            return key;
        }
    }

    /** Ids as the first part of {@link CompositeKeys}. The end of the part takes the place of GeaFlow's delimiter. */
    private static final class Escaped extends IdKeys {
        private final String name;

        Escaped(Class<?> type) {
            name = type.getName();
        }

        @Override
        byte[] beginning(byte[] id) {
            return CompositeKeys.prefix(id);
        }

        @Override
        public String toString() {
            return name;
        }

        @Override
        int end(byte[] key) {
            return CompositeKeys.prefixLength(key);
        }

        @Override
        byte[] id(byte[] key) {
            return CompositeKeys.first(key);
        }

        @Override
        int endOfSource(byte[] key) {
            return end(key);
        }

        @Override
        byte[] ofEdge(byte[] source, byte[] encoded) {
            checkSource(source, encoded);
            int rest = source.length + StateConfigKeys.DELIMITER.length;
            byte[] beginning = CompositeKeys.prefix(source);
            byte[] key = Arrays.copyOf(beginning, beginning.length + encoded.length - rest);
            System.arraycopy(encoded, rest, key, beginning.length, encoded.length - rest);
            return key;
        }

        @Override
        byte[] encodedEdge(byte[] key) {
            int end = end(key);
            byte[] id = id(key);
            int delimiter = StateConfigKeys.DELIMITER.length;
            // An id without zeros has as many bytes as in the key, whose end of two zeros becomes the delimiter.
            byte[] encoded = id.length + delimiter == end ? key : new byte[id.length + delimiter + key.length - end];
            if (encoded != key) {
                System.arraycopy(id, 0, encoded, 0, id.length);
                System.arraycopy(key, end, encoded, id.length + delimiter, key.length - end);
            }
            System.arraycopy(StateConfigKeys.DELIMITER, 0, encoded, id.length, delimiter);
            return encoded;
        }
    }
}
