package org.fulgurite.typed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.fulgurite.Database;
import org.fulgurite.KeyRange;
import org.fulgurite.Table;
import org.fulgurite.TableOptions;
import org.fulgurite.Transaction;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.options.MergeOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TypedTableTest {
    private static final PairCodec<String, Long> KEYS = Codecs.pair(Codecs.STRING, Codecs.I64);

    @TempDir
    Path directory;

    private Database database;
    private TypedTable<Pair<String, Long>, String> logins;

    @BeforeEach
    void open() {
        database = Database.create(directory.resolve("a.ful"));
        logins = TypedTable.openOrCreate(database, "logins", KEYS, Codecs.STRING);
    }

    @AfterEach
    void close() {
        database.close();
    }

    private List<String> values(Transaction txn, KeyRange range) {
        List<String> values = new ArrayList<>();
        for (TypedEntry<Pair<String, Long>, String> entry : logins.entries(txn, range)) {
            values.add(entry.value());
        }
        return values;
    }

    @Test
    void entriesAreFoundByKeysAndRanges() {
        database.write(txn -> {
            logins.put(txn, Pair.of("ann", -5L), "a");
            logins.put(txn, Pair.of("ann", 10L), "c");
            assertTrue(logins.insert(txn, Pair.of("ann", 2L), "b"));
            assertFalse(logins.insert(txn, Pair.of("ann", 2L), "x"));
            logins.put(txn, Pair.of("anna", 1L), "d");
        });
        database.read(txn -> {
            assertEquals("c", logins.get(txn, Pair.of("ann", 10L)));
            assertNull(logins.get(txn, Pair.of("ann", 11L)));
            assertEquals(Arrays.asList("a", null), logins.getMany(txn, Arrays.asList(Pair.of("ann", -5L), Pair.of("x", 0L))));
            assertEquals(Arrays.asList("a", "b", "c"), values(txn, KEYS.startingWith("ann")));
            assertEquals(Arrays.asList("b", "c"), values(txn, logins.between(Pair.of("ann", 0L), Pair.of("ann", 11L))));
            assertEquals(Arrays.asList("c", "d"), values(txn, logins.atLeast(Pair.of("ann", 3L))));
            assertEquals(Arrays.asList("a"), values(txn, logins.lessThan(Pair.of("ann", 2L))));
            assertEquals(Pair.of("anna", 1L), logins.last(txn, KeyRange.all()).key());
            assertEquals("a", logins.first(txn, KEYS.startingWith("ann")).value());
            assertNull(logins.first(txn, KEYS.startingWith("bob")));
            return null;
        });
        database.write(txn -> {
            assertTrue(logins.delete(txn, Pair.of("ann", 2L)));
            assertFalse(logins.containsKey(txn, Pair.of("ann", 2L)));
        });
    }

    @Test
    void theTypesAreRecordedAndCompared() {
        assertEquals("(string,i64)", logins.table().keyType());
        assertEquals("string", logins.table().valueType());
        assertEquals("", database.openOrCreateTable("untyped").keyType());
        FulguriteException error =
                assertThrows(FulguriteException.class, () -> TypedTable.open(database, "logins", KEYS, Codecs.I64));
        assertEquals(ErrorKind.TABLE_MISMATCH, error.kind());
        assertTrue(error.getMessage().contains("(string,i64) to string"), error.getMessage());
        error = assertThrows(
                FulguriteException.class, () -> TypedTable.openOrCreate(database, "logins", Codecs.I64, Codecs.STRING));
        assertEquals(ErrorKind.TABLE_MISMATCH, error.kind());
        error = assertThrows(
                FulguriteException.class, () -> TypedTable.open(database, "untyped", Codecs.I64, Codecs.STRING));
        assertTrue(error.getMessage().contains("untyped bytes"), error.getMessage());
        try (TypedTable<Pair<String, Long>, String> again = TypedTable.open(database, "logins", KEYS, Codecs.STRING)) {
            assertEquals("table logins of (string,i64) to string", again.toString());
        }
    }

    private void assertRefused(TableOptions options, String option) {
        for (Runnable creation : new Runnable[] {
            () -> database.createTable("refused", options), () -> database.openOrCreateTable("refused", options)
        }) {
            FulguriteException error = assertThrows(FulguriteException.class, creation::run);
            assertEquals(ErrorKind.INVALID, error.kind());
            assertTrue(error.getMessage().startsWith(option + ": "), error.getMessage());
            assertTrue(error.getMessage().contains("`u46`"), error.getMessage());
            assertTrue(error.getMessage().contains("the types are u8 to u128, "), error.getMessage());
        }
        assertFalse(database.tableNames().contains("refused"));
    }

    @Test
    void aNameOfNoTypeIsRefusedWithTheNamesOfTypes() {
        assertRefused(new TableOptions().keyType("u46"), "keyType");
        assertRefused(new TableOptions().keyType("u64").valueType("u46"), "valueType");
    }

    @Test
    void aNameWithSpacesIsThatOfItsCodec() {
        TableOptions options = new TableOptions().keyType(" ( string , i64 )").valueType("string ");
        try (Table table = database.createTable("spaces", options)) {
            assertEquals("(string,i64)", table.keyType());
            assertEquals("string", table.valueType());
        }
        database.openOrCreateTable("spaces", options).close();
        TypedTable.open(database, "spaces", KEYS, Codecs.STRING).close();
    }

    @Test
    void theNamesOfAllCodecsAreTypes() {
        List<Codec<?>> codecs = new ArrayList<>(Arrays.asList(
                Codecs.I8, Codecs.I16, Codecs.I32, Codecs.I64, Codecs.I128, Codecs.U8, Codecs.U16, Codecs.U32, Codecs.U64,
                Codecs.U128, Codecs.BOOL, Codecs.CHAR, Codecs.F32, Codecs.F64, Codecs.STRING, Codecs.BYTES, Codecs.UUIDS,
                Codecs.bytes(0), Codecs.bytes(64 << 20), Codecs.option(Codecs.pair(Codecs.U8, Codecs.option(Codecs.BOOL)))));
        codecs.add(Codecs.tuple(codecs.subList(0, 8).toArray(new Codec<?>[0])));
        for (int index = 0; index < codecs.size(); index++) {
            String name = codecs.get(index).typeName();
            TableOptions options = new TableOptions().keyType(name).valueType(name);
            try (Table table = database.createTable("table " + index, options)) {
                assertEquals(name, table.keyType());
                assertEquals(name, table.valueType());
            }
        }
    }

    @Test
    void operatorsMergeTypedNumbers() {
        TableOptions options = new TableOptions().merge(MergeOperator.ADD);
        TypedTable<String, Long> hits =
                TypedTable.openOrCreate(database, "hits", Codecs.STRING, Codecs.I64, options);
        for (long operand : new long[] {5, -7, 300}) {
            database.write(txn -> hits.merge(txn, "/", operand));
        }
        assertEquals(298L, database.<Long>read(txn -> hits.get(txn, "/")));
    }

    @Test
    void listsAreKeysToo() {
        TupleCodec keys = Codecs.tuple(Codecs.STRING, Codecs.U32, Codecs.BOOL);
        TypedTable<List<Object>, Double> table =
                TypedTable.openOrCreate(database, "tuples", keys, Codecs.F64);
        List<Object> key = Arrays.asList("a", 7L, true);
        database.write(txn -> table.put(txn, key, 1.5));
        database.read(txn -> {
            assertEquals(1.5, table.get(txn, key));
            assertEquals(key, table.first(txn, keys.startingWith("a", 7L)).key());
            assertNull(table.first(txn, keys.startingWith("a", 8L)));
            return null;
        });
    }
}
