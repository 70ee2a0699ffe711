package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.fulgurite.checkpoints.CheckpointStorage;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.CorruptException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class CheckpointsTest {
    private static final int ENTRIES = 10_000;
    private static final DatabaseOptions OPTIONS = Database.options().create(true).keepLog(64 << 20);

    @TempDir
    Path directory;

    private Path stored;
    private DirectoryStorage storage;

    @BeforeEach
    void setUp() {
        stored = directory.resolve("checkpoints");
        storage = new DirectoryStorage(stored);
    }

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static void put(Database database, int first, int end, String value) {
        Table table = database.openOrCreateTable("t");
        database.write(txn -> {
            for (int number = first; number < end; number++) {
                txn.put(table, key(number), value.getBytes());
            }
        });
    }

    private static String get(Database database, int number) {
        byte[] value = database.get(database.openTable("t"), key(number));
        return value == null ? null : new String(value);
    }

    /** A storage whose calls fail after so many. */
    private final class FailingStorage implements CheckpointStorage {
        private final IOException planted = new IOException("planted");
        private int calls;

        FailingStorage(int calls) {
            this.calls = calls;
        }

        private void count() throws IOException {
            if (calls-- == 0) {
                throw planted;
            }
        }

        @Override
        public void store(String name, Path file) throws IOException {
            count();
            storage.store(name, file);
        }

        @Override
        public void fetch(String name, Path path) throws IOException {
            count();
            storage.fetch(name, path);
        }

        @Override
        public void remove(String name) throws IOException {
            count();
            storage.remove(name);
        }

        @Override
        public List<String> names() throws IOException {
            count();
            return storage.names();
        }
    }

    @Test
    void everyRetainedCheckpointIsRestoredAndLaterOnesSendChanges() {
        try (Database database = OPTIONS.open(directory.resolve("a.ful"));
                Checkpoints checkpoints = new Checkpoints(storage, 3, 0)) {
            put(database, 0, ENTRIES, "first");
            Checkpoints.Report whole = checkpoints.create(database, 0);
            assertTrue(whole.isWhole());
            for (int id = 1; id < 6; id++) {
                put(database, id, id + 1, "changed");
                Checkpoints.Report report = checkpoints.create(database, id);
                assertFalse(report.isWhole());
                assertTrue(report.bytesSent() * 100 < whole.bytesSent(), report::toString);
            }
            assertArrayEquals(new long[] {3, 4, 5}, checkpoints.ids());
        }
        try (Checkpoints checkpoints = new Checkpoints(storage)) {
            try (Database restored = checkpoints.restore(3, directory.resolve("b.ful"), OPTIONS)) {
                assertEquals("changed", get(restored, 3));
                assertEquals("first", get(restored, 4));
                assertNull(get(restored, ENTRIES));
                // The next one sends what has changed since then.
                put(restored, ENTRIES, ENTRIES + 1, "new");
                assertFalse(checkpoints.create(restored, 6).isWhole());
            }
            try (Database restored = checkpoints.restore(6, directory.resolve("c.ful"), OPTIONS)) {
                assertEquals("new", get(restored, ENTRIES));
                assertEquals("first", get(restored, 4));
                assertTrue(restored.check().isSound());
            }
        }
    }

    @Test
    void afterAFailedStepOneCheckpointOrTheOtherIsThere() throws IOException {
        try (Database database = OPTIONS.open(directory.resolve("a.ful"))) {
            put(database, 0, ENTRIES, "first");
            try (Checkpoints checkpoints = new Checkpoints(storage)) {
                checkpoints.create(database, 1);
            }
            put(database, 0, ENTRIES, "second");
            boolean succeeded = false;
            for (int step = 0; !succeeded; step++) {
                FailingStorage failing = new FailingStorage(step);
                try (Checkpoints checkpoints = new Checkpoints(failing)) {
                    Checkpoints.Report report = checkpoints.create(database, 2);
                    succeeded = report.removalFailure() == null;
                    assertSame(succeeded ? null : failing.planted, report.removalFailure());
                } catch (FulguriteException failed) {
                    assertEquals(ErrorKind.IO, failed.kind());
                    assertSame(failing.planted, failed.getCause());
                    assertTrue(failed.getMessage().contains("planted"), failed.getMessage());
                }
                try (Checkpoints checkpoints = new Checkpoints(storage)) {
                    long[] ids = checkpoints.ids();
                    long newest = ids[ids.length - 1];
                    Path path = directory.resolve("restored-" + step + ".ful");
                    try (Database restored = checkpoints.restore(newest, path, OPTIONS)) {
                        assertEquals(newest == 1 ? "first" : "second", get(restored, 7));
                    }
                }
            }
            assertTrue(Files.exists(stored.resolve("meta.2/_commit")));
        }
    }

    @Test
    void wrongUseAndDamagedFilesAreErrors() throws IOException {
        Checkpoints checkpoints = new Checkpoints(storage);
        Path path = directory.resolve("b.ful");
        assertArrayEquals(new long[0], checkpoints.ids());
        assertKind(ErrorKind.INVALID, () -> checkpoints.restore(1, path, OPTIONS));
        assertKind(ErrorKind.INVALID, () -> new Checkpoints(storage, 0));
        assertKind(ErrorKind.INVALID, () -> new Checkpoints(storage, 1, -1));
        assertKind(ErrorKind.INVALID, () -> new Checkpoints(storage, 1, 23));
        assertThrows(NullPointerException.class, () -> new Checkpoints(null));
        try (Database database = OPTIONS.open(directory.resolve("a.ful"))) {
            put(database, 0, ENTRIES, "first");
            assertKind(ErrorKind.INVALID, () -> checkpoints.create(database, -1));
            checkpoints.create(database, 1);
            assertKind(ErrorKind.FILE_EXISTS, () -> checkpoints.restore(1, database.path(), OPTIONS));
        }
        for (String name : storage.names()) {
            if (name.startsWith("data/")) {
                byte[] bytes = Files.readAllBytes(stored.resolve(name));
                bytes[bytes.length / 2] ^= 1;
                Files.write(stored.resolve(name), bytes);
            }
        }
        assertThrows(CorruptException.class, () -> checkpoints.restore(1, path, OPTIONS));
        assertFalse(Files.exists(path));
        checkpoints.close();
        checkpoints.close();
        assertThrows(ClosedException.class, checkpoints::ids);
    }

    private static void assertKind(ErrorKind kind, Executable call) {
        assertEquals(kind, assertThrows(FulguriteException.class, call).kind());
    }
}
