package org.fulgurite.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Objects;

/**
 * Memory of a thread outside of Java's heap, by which keys, values and the first quads of a pattern are passed to and
 * from the native library. The library reads and writes it without a call into the virtual machine. Keys and values
 * that do not fit are passed as arrays, and so are those of virtual threads, because a program may have millions of
 * these.
 */
public final class Room {
    /** The number of a {@code put}: see {@code crates/java/src/writes.rs}. */
    public static final int PUT = 0;

    /** The number of an {@code insert}. */
    public static final int INSERT = 1;

    /** The number of a {@code merge}. */
    public static final int MERGE = 2;

    /** The number of a {@code delete}. */
    public static final int DELETE = 3;

    private static final int BYTES = 8 << 10;
    private static final int ABSENT = -1;
    private static final long UNSORTED = -1;
    private static final ThreadLocal<Room> OF_THREAD = new ThreadLocal<>();

    /** {@code Thread.isVirtual}, or null before Java 21. */
    private static final MethodHandle IS_VIRTUAL = isVirtualMethod();

    /** For threads without memory: it is always in use, so their keys and values are passed as arrays. */
    private static final Room NONE = new Room(null, null, 0);

    private final ByteBuffer buffer;
    private final LongBuffer numbers;
    private final long address;

    /** An array as large as the buffer, in which many keys and values are packed; null before the first use. */
    private ByteBuffer packed;

    /** Gets the value or the values of a call that do not fit into the buffer. */
    private final byte[][] large = new byte[1][];

    /** Set during a call: a merge function that the call calls may read a database. */
    private boolean isUsed;

    private Room(ByteBuffer buffer, LongBuffer numbers, long address) {
        this.buffer = buffer;
        this.numbers = numbers;
        this.address = address;
        isUsed = buffer == null;
    }

    private static Room create() {
        try {
            ByteBuffer buffer = ByteBuffer.allocateDirect(BYTES);
            LongBuffer numbers = buffer.order(ByteOrder.nativeOrder()).asLongBuffer();
            return new Room(buffer, numbers, Native.address(buffer));
        } catch (OutOfMemoryError used) {
            // Others use all of -XX:MaxDirectMemorySize.
            return NONE;
        }
    }

    /** Returns the thread's room without content. Returns null if there is none, it is used, or it has fewer bytes. */
    private static Room of(long bytes) {
        if (bytes > BYTES) {
            return null;
        }
        Room room = OF_THREAD.get();
        if (room == null) {
            if (isVirtual()) {
                return null;
            }
            room = create();
            OF_THREAD.set(room);
        }
        if (room.isUsed) {
            return null;
        }
        room.buffer.clear();
        return room;
    }

    private static MethodHandle isVirtualMethod() {
        try {
            MethodType type = MethodType.methodType(boolean.class);
            return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", type);
        } catch (ReflectiveOperationException missing) {
            return null;
        }
    }

    private static boolean isVirtual() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    /**
     * Returns the length of the value of the key in the buffer, or -1. The value is behind the key if it fits; if it
     * has at most {@code most} bytes, it is in {@link #large} otherwise.
     */
    private int find(long txn, long table, int most) {
        isUsed = true;
        try {
            return (int) Native.getInRoom(txn, table, address, BYTES, buffer.position(), large, most);
        } finally {
            isUsed = false;
        }
    }

    private boolean change(long txn, long table, int kind, int keyLength) {
        isUsed = true;
        try {
            return Native.changeInRoom(txn, table, kind, address, BYTES, keyLength, buffer.position() - keyLength);
        } finally {
            isUsed = false;
        }
    }

    /** Returns the value of a key, or null. {@code txn} is a transaction or a database. */
    public static byte[] get(long txn, long table, byte[] key) {
        Objects.requireNonNull(key, "key");
        Room room = of(key.length);
        if (room == null) {
            return Native.get(txn, table, key);
        }
        room.buffer.put(key);
        int length = room.find(txn, table, Integer.MAX_VALUE);
        if (length == ABSENT) {
            return null;
        }
        if (length > room.buffer.remaining()) {
            return room.takeLarge();
        }
        byte[] value = new byte[length];
        room.buffer.get(value);
        return value;
    }

    /**
     * Puts the value of a key into a buffer, if it fits between its position and its limit, and moves the position
     * behind it. Returns the length of the value, or -1 if the key does not exist.
     */
    public static int get(long txn, long table, ByteBuffer key, ByteBuffer into) {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(into, "value");
        Room room = of(key.remaining());
        if (room == null) {
            return put(Native.get(txn, table, array(key)), into);
        }
        room.buffer.put(key.duplicate());
        int length = room.find(txn, table, into.remaining());
        if (length <= 0 || length > into.remaining()) {
            return length;
        }
        if (length > room.buffer.remaining()) {
            return put(room.takeLarge(), into);
        }
        room.buffer.limit(room.buffer.position() + length);
        into.put(room.buffer);
        return length;
    }

    /**
     * Looks up many keys. Returns a little-endian buffer with an array. From position 0 to the limit it has, in the
     * order of the keys, the length of each value in 4 bytes and the value; the length is -1 if the key does not exist.
     * The buffer is valid until the thread's next call. {@code txn} is a transaction or a database.
     */
    public static ByteBuffer getMany(long txn, long table, byte[][] keys) {
        long bytes = 0;
        for (byte[] key : keys) {
            bytes += 4L + Objects.requireNonNull(key, "key").length;
        }
        Room room = of(bytes);
        if (room == null) {
            if (bytes > Integer.MAX_VALUE - 16) {
                throw Exceptions.invalid("the keys have " + bytes + " bytes together; split them into several calls");
            }
            byte[] packed = pack(keys, littleEndian(new byte[(int) bytes]));
            return littleEndian(Native.getMany(txn, table, packed, packed.length));
        }
        return room.findMany(txn, table, keys, (int) bytes);
    }

    private ByteBuffer findMany(long txn, long table, byte[][] keys, int bytes) {
        if (packed == null) {
            packed = littleEndian(new byte[BYTES]);
        }
        packed.clear();
        // Copies within Java's heap are cheaper than many small ones from and to other memory.
        buffer.put(pack(keys, packed), 0, bytes);
        int found;
        isUsed = true;
        try {
            found = (int) Native.getManyInRoom(txn, table, address, BYTES, bytes, large);
        } finally {
            isUsed = false;
        }
        if (found > buffer.remaining()) {
            return littleEndian(takeLarge());
        }
        buffer.get(packed.array(), 0, found);
        packed.position(0);
        packed.limit(found);
        return packed;
    }

    /** Puts keys into a buffer, each after its length. Returns its array. */
    private static byte[] pack(byte[][] keys, ByteBuffer into) {
        for (byte[] key : keys) {
            into.putInt(key.length).put(key);
        }
        return into.array();
    }

    private static ByteBuffer littleEndian(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private byte[] takeLarge() {
        byte[] value = large[0];
        large[0] = null;
        return value;
    }

    private static int put(byte[] value, ByteBuffer into) {
        if (value == null) {
            return ABSENT;
        }
        if (value.length <= into.remaining()) {
            into.put(value);
        }
        return value.length;
    }

    private static byte[] array(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /**
     * Changes a key. Returns whether an insertion stored the value, or whether a deleted key existed; otherwise true.
     */
    public static boolean change(long txn, long table, int kind, byte[] key, byte[] value) {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(value, "value");
        Room room = of((long) key.length + value.length);
        if (room == null) {
            return Native.change(txn, table, kind, key, value);
        }
        room.buffer.put(key).put(value);
        return room.change(txn, table, kind, key.length);
    }

    /**
     * Changes a key with the bytes between the positions and the limits of buffers, which stay as they are. Returns the
     * same as for arrays.
     */
    public static boolean change(long txn, long table, int kind, ByteBuffer key, ByteBuffer value) {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(value, "value");
        Room room = of((long) key.remaining() + value.remaining());
        if (room == null) {
            return Native.change(txn, table, kind, array(key), array(value));
        }
        room.buffer.put(key.duplicate()).put(value.duplicate());
        return room.change(txn, table, kind, key.remaining());
    }

    /**
     * Reads quads of a view. A subject, predicate or object of 0 matches every term; a graph of -1 matches every graph.
     * {@code sortedBy} is the column by which the quads are sorted, or -1. Puts the first ones into {@code rows}, four
     * ids each, and their number into its last element. Returns an iterator for {@link NativeQuads#next}, 0 if these
     * were all, or -1 if no index has the order.
     */
    public static long quads(
            long view, long subject, long predicate, long object, long graph, int kinds, int sortedBy, long[] rows) {
        Room room = of((long) Long.BYTES * rows.length);
        if (room == null) {
            return NativeQuads.quads(view, subject, predicate, object, graph, kinds, sortedBy, rows);
        }
        long found;
        room.isUsed = true;
        try {
            found = NativeQuads.quadsInRoom(
                    view, subject, predicate, object, graph, kinds, sortedBy, room.address, BYTES, rows.length);
        } finally {
            room.isUsed = false;
        }
        if (found != UNSORTED) {
            int count = (int) room.numbers.get(rows.length - 1);
            room.numbers.clear();
            room.numbers.get(rows, 0, 4 * count);
            rows[rows.length - 1] = count;
        }
        return found;
    }
}
