package org.fulgurite.typed;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.fulgurite.Cursor;
import org.fulgurite.Database;
import org.fulgurite.Entry;
import org.fulgurite.KeyRange;
import org.fulgurite.Table;
import org.fulgurite.TableOptions;
import org.fulgurite.Transaction;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.internal.Exceptions;

/**
 * A table of typed keys and values. The database records their types, and refuses to open the table with others. Keys
 * sort in the order of their type. Threads can share a table.
 *
 * <pre>{@code
 * PairCodec<String, Long> userAndTime = Codecs.pair(Codecs.STRING, Codecs.I64);
 * TypedTable<Pair<String, Long>, String> logins =
 *         TypedTable.openOrCreate(database, "logins", userAndTime, Codecs.STRING);
 *
 * database.write(txn -> logins.put(txn, Pair.of("ann", 1_700_000_000L), "10.0.0.7"));
 * database.read(txn -> {
 *     for (TypedEntry<Pair<String, Long>, String> login : logins.entries(txn, userAndTime.startingWith("ann"))) {
 *         System.out.println(login.key().second() + " " + login.value());
 *     }
 *     return null;
 * });
 * }</pre>
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 */
public final class TypedTable<K, V> implements AutoCloseable {
    private final Table table;
    private final Codec<K> keys;
    private final Codec<V> values;

    private TypedTable(Table table, Codec<K> keys, Codec<V> values) {
        this.table = table;
        this.keys = keys;
        this.values = values;
    }

    /**
     * Opens a table with the default options, and creates it if it does not exist.
     *
     * @param database the database
     * @param name the name of the table
     * @param keys the type of the keys
     * @param values the type of the values
     * @param <K> the class of the keys
     * @param <V> the class of the values
     * @return the table
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link ErrorKind#TABLE_MISMATCH} if an existing
     *     table has other types or options
     */
    public static <K, V> TypedTable<K, V> openOrCreate(
            Database database, String name, Codec<K> keys, Codec<V> values) {
        return openOrCreate(database, name, keys, values, new TableOptions());
    }

    /**
     * Opens a table, and creates it if it does not exist. An existing table must have the same types and options.
     *
     * @param database the database
     * @param name the name of the table
     * @param keys the type of the keys
     * @param values the type of the values
     * @param options the options; this call sets their key type and value type
     * @param <K> the class of the keys
     * @param <V> the class of the values
     * @return the table
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link ErrorKind#TABLE_MISMATCH} if an existing
     *     table has other types or options
     */
    public static <K, V> TypedTable<K, V> openOrCreate(
            Database database, String name, Codec<K> keys, Codec<V> values, TableOptions options) {
        options.keyType(keys.typeName()).valueType(values.typeName());
        return new TypedTable<>(database.openOrCreateTable(name, options), keys, values);
    }

    /**
     * Opens an existing table, whatever its options.
     *
     * @param database the database
     * @param name the name of the table
     * @param keys the type of the keys
     * @param values the type of the values
     * @param <K> the class of the keys
     * @param <V> the class of the values
     * @return the table
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link ErrorKind#TABLE_NOT_FOUND} if there is no
     *     such table, and of the kind {@link ErrorKind#TABLE_MISMATCH} if it has other types
     */
    public static <K, V> TypedTable<K, V> open(Database database, String name, Codec<K> keys, Codec<V> values) {
        Table table = database.openTable(name);
        if (!table.keyType().equals(keys.typeName()) || !table.valueType().equals(values.typeName())) {
            String stored = named(table.keyType()) + " to " + named(table.valueType());
            table.close();
            throw Exceptions.of(
                    ErrorKind.TABLE_MISMATCH,
                    "the table " + name + " maps " + stored + ", not " + keys + " to " + values
                            + "; open it with codecs of its types");
        }
        return new TypedTable<>(table, keys, values);
    }

    private static String named(String type) {
        return type.isEmpty() ? "untyped bytes" : type;
    }

    /**
     * Returns the table of bytes, for calls with encoded keys and values.
     *
     * @return the table; closing it closes this object
     */
    public Table table() {
        return table;
    }

    /**
     * Returns the value of a key.
     *
     * @param transaction the transaction
     * @param key the key
     * @return the value, or null if the key does not exist
     */
    public V get(Transaction transaction, K key) {
        return decoded(transaction.get(table, keys.encodeKey(key)));
    }

    private V decoded(byte[] value) {
        return value == null ? null : values.decodeValue(value);
    }

    /**
     * Returns whether a key exists.
     *
     * @param transaction the transaction
     * @param key the key
     * @return whether it exists
     */
    public boolean containsKey(Transaction transaction, K key) {
        return transaction.containsKey(table, keys.encodeKey(key));
    }

    /**
     * Returns the values of many keys. This is several times faster than single gets.
     *
     * @param transaction the transaction
     * @param wanted the keys
     * @return the values in the order of the keys; null for each key that does not exist
     */
    public List<V> getMany(Transaction transaction, Collection<? extends K> wanted) {
        List<byte[]> encoded = new ArrayList<>(wanted.size());
        for (K key : wanted) {
            encoded.add(keys.encodeKey(key));
        }
        List<V> found = new ArrayList<>(wanted.size());
        for (byte[] value : transaction.getMany(table, encoded)) {
            found.add(decoded(value));
        }
        return found;
    }

    /**
     * Stores a value, and replaces an existing one.
     *
     * @param transaction the transaction
     * @param key the key
     * @param value the value
     */
    public void put(WriteTransaction transaction, K key, V value) {
        transaction.put(table, keys.encodeKey(key), values.encodeValue(value));
    }

    /**
     * Stores a value unless the key exists.
     *
     * @param transaction the transaction
     * @param key the key
     * @param value the value
     * @return whether the value was stored
     */
    public boolean insert(WriteTransaction transaction, K key, V value) {
        return transaction.insert(table, keys.encodeKey(key), values.encodeValue(value));
    }

    /**
     * Merges an operand into the value of a key, by the {@link TableOptions#merge operator} of the table.
     *
     * @param transaction the transaction
     * @param key the key
     * @param operand the operand
     */
    public void merge(WriteTransaction transaction, K key, V operand) {
        transaction.merge(table, keys.encodeKey(key), values.encodeValue(operand));
    }

    /**
     * Deletes a key.
     *
     * @param transaction the transaction
     * @param key the key
     * @return whether the key existed
     */
    public boolean delete(WriteTransaction transaction, K key) {
        return transaction.delete(table, keys.encodeKey(key));
    }

    /**
     * Returns the entries of a range in ascending order, for loops.
     *
     * @param transaction the transaction
     * @param range the keys, such as {@link #atLeast} or {@link PairCodec#startingWith} return
     * @return the entries; each iterator scans the table
     */
    public Iterable<TypedEntry<K, V>> entries(Transaction transaction, KeyRange range) {
        return () -> {
            Iterator<Entry> entries = transaction.entries(table, range).iterator();
            return new Iterator<TypedEntry<K, V>>() {
                @Override
                public boolean hasNext() {
                    return entries.hasNext();
                }

                @Override
                public TypedEntry<K, V> next() {
                    Entry entry = entries.next();
                    return entry(entry.key(), entry.value());
                }
            };
        };
    }

    private TypedEntry<K, V> entry(byte[] key, byte[] value) {
        return new TypedEntry<>(keys.decodeKey(key), values.decodeValue(value));
    }

    /**
     * Returns the first entry of a range.
     *
     * @param transaction the transaction
     * @param range the keys
     * @return the entry, or null if there is none
     */
    public TypedEntry<K, V> first(Transaction transaction, KeyRange range) {
        return next(transaction.scan(table, range));
    }

    /**
     * Returns the last entry of a range.
     *
     * @param transaction the transaction
     * @param range the keys
     * @return the entry, or null if there is none
     */
    public TypedEntry<K, V> last(Transaction transaction, KeyRange range) {
        return next(transaction.scanReverse(table, range));
    }

    private TypedEntry<K, V> next(Cursor opened) {
        try (Cursor cursor = opened) {
            return cursor.next() ? entry(cursor.key(), cursor.value()) : null;
        }
    }

    /**
     * Returns the range of all keys from a key on.
     *
     * @param key the lower bound, inclusive
     * @return the range
     */
    public KeyRange atLeast(K key) {
        return KeyRange.atLeast(keys.encodeKey(key));
    }

    /**
     * Returns the range of all keys before a key.
     *
     * @param key the upper bound, exclusive
     * @return the range
     */
    public KeyRange lessThan(K key) {
        return KeyRange.lessThan(keys.encodeKey(key));
    }

    /**
     * Returns the range of all keys from {@code low} up to, but not including, {@code high}.
     *
     * @param low the lower bound, inclusive
     * @param high the upper bound, exclusive
     * @return the range
     */
    public KeyRange between(K low, K high) {
        return KeyRange.between(keys.encodeKey(low), keys.encodeKey(Objects.requireNonNull(high, "high")));
    }

    /** Releases this object. The table itself is not changed. */
    @Override
    public void close() {
        table.close();
    }

    @Override
    public String toString() {
        return table + " of " + keys + " to " + values;
    }
}
