package org.fulgurite.internal;

import java.nio.ByteBuffer;

/**
 * The native methods, which {@code crates/java} implements. Handles are never 0. Bounds of ranges have a kind: 0 for
 * none, 1 for inclusive, 2 for exclusive. {@code crates/java/src/batch.rs} describes arrays of keys, entries and
 * changes, and {@code packed_changes.rs} those of commits.
 */
public final class Native {
    static {
        NativeLibrary.load();
    }

    private Native() {}

    /** The version of the native library. */
    static native String version();

    /** The names of the kinds of errors, in the order in which they are numbered. */
    static native String[] errorKinds();

    public static native long open(String path, long[] options, String[] names, MergeCalls[] functions);

    public static native void close(long handle);

    public static native void discard(long handle);

    /** Throws if a merge function runs on this thread and cannot close the object. */
    static native void checkClosable(long handle);

    public static native long beginRead(long database, boolean durable);

    public static native long beginWrite(long database, int isolation, long timeoutMs);

    public static native long beginExclusive(long database, long timeoutMs);

    public static native long sync(long database);

    public static native void checkpoint(long database);

    public static native long compact(long database);

    public static native void backup(long database, String path);

    public static native String[] check(long database, long[] counts);

    public static native long[] stats(long database);

    public static native long createTable(
            long database,
            String name,
            int flags,
            int align,
            int operator,
            String function,
            String[] types,
            boolean ifAbsent);

    public static native String[] tableTypes(long table);

    public static native long openTable(long database, String name);

    public static native void dropTable(long database, long table);

    public static native long renameTable(long database, long table, String name);

    public static native String[] tableNames(long database);

    static native byte[] get(long txn, long table, byte[] key);

    static native byte[] getMany(long txn, long table, byte[] keys, int length);

    public static native long scan(
            long txn, long table, boolean reverse, int lowKind, byte[] low, int highKind, byte[] high, byte[] entries);

    public static native long count(long txn, long table, int lowKind, byte[] low, int highKind, byte[] high);

    public static native long[] estimate(long txn, long table, int lowKind, byte[] low, int highKind, byte[] high);

    public static native long sequence(long txn);

    static native boolean change(long txn, long table, int kind, byte[] key, byte[] value);

    // The next four are for the class Room only: they take the address of its memory.

    static native long address(ByteBuffer buffer);

    static native long getInRoom(long txn, long table, long room, int size, int key, byte[][] large, int most);

    static native long getManyInRoom(long txn, long table, long room, int size, int keys, byte[][] large);

    static native boolean changeInRoom(long txn, long table, int kind, long room, int size, int key, int value);

    public static native long deleteRange(long txn, long table, int lowKind, byte[] low, int highKind, byte[] high);

    public static native void apply(long txn, long table, byte[] changes, int length);

    public static native int savepoint(long txn);

    public static native void rollbackTo(long txn, int savepoint);

    public static native long commit(long txn, int durability);

    public static native long openCheckpoints(StorageCalls storage, int retained, int compressionLevel);

    public static native long[] createCheckpoint(long checkpoints, long database, long id);

    public static native long restoreCheckpoint(
            long checkpoints, long id, String path, long[] options, String[] names, MergeCalls[] functions);

    public static native long[] checkpointIds(long checkpoints);

    public static native long openChanges(long database, long after);

    public static native byte[] nextChanges(long feed, int bytes);

    public static native long waitDurable(long database, long after, long timeoutMs);

    public static native void bulkLoad(
            long database, long table, boolean sorted, EntryBuffer source, long[] counts);
}
