package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.hadoop.fs.Path;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.junit.jupiter.api.Test;

/** Storages of files that are not empty, or do not behave as a local disk does. */
class RemoteFilesTest extends WithJob {
    /** A job changed its store from RocksDB to Fulgurite, and not the root of its checkpoints. */
    @Test
    void checkpointsOfAnotherStoreAreNamedAndStay() throws IOException {
        java.nio.file.Path other = remote(0).resolve("meta.5");
        Files.createDirectories(other);
        for (String name : new String[] {"CURRENT", "FILES", "_commit"}) {
            Files.createFile(other.resolve(name));
        }
        configuration.put("geaflow.batch.number.per.checkpoint", "0");
        IKVStatefulStore<String, String> store = values();
        store.put("a", "kept");
        Runnable[] recoveries = {store::recoveryLatest, () -> store.recovery(5)};
        for (Runnable recovery : recoveries) {
            GeaflowRuntimeException refused = assertThrows(GeaflowRuntimeException.class, recovery::run);
            String message = refused.getMessage();
            assertTrue(message.contains("checkpoint 5 of the store state, shard 0, has no manifest"), message);
            assertTrue(message.contains("RocksdbMigration"), message);
            assertEquals("kept", store.get("a"));
        }
        store.archive(6);
        store.put("a", "newer");
        store.archive(7);
        // One is retained.
        assertFalse(Files.exists(remote(0).resolve("meta.6")));
        for (String name : new String[] {"CURRENT", "FILES", "_commit"}) {
            assertTrue(Files.exists(other.resolve(name)), name);
        }
        store.drop();
        assertEquals(7, store.recoveryLatest());
        assertEquals("newer", store.get("a"));
    }

    @Test
    void directoriesThatListFilesTwiceAreReadOnceAndThoseOfCommittedCheckpointsNotAgain() {
        List<String> read = new ArrayList<>();
        int[] looks = {0};
        PersistentIOBuilder.STORAGE.set(new LocalFiles() {
            @Override
            public List<String> listFileName(Path path) {
                read.add(path.toString());
                List<String> names = new ArrayList<>(super.listFileName(path));
                names.addAll(super.listFileName(path));
                return names;
            }

            @Override
            public boolean exists(Path path) {
                looks[0]++;
                return super.exists(path);
            }
        });
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        for (int id = 2; id <= 9; id++) {
            store.put("a", "value of " + id);
            read.clear();
            looks[0] = 0;
            store.archive(id);
            // The root, the directory of the checkpoint before, and data.
            assertEquals(3, new HashSet<>(read).size(), read.toString());
            assertEquals(3, read.size(), read.toString());
            assertEquals(0, looks[0]);
        }
        store.drop();
        assertEquals(9, store.recoveryLatest());
        assertEquals("value of 9", store.get("a"));
    }

    @Test
    void aRecoveredFileIsReadableForItsOwnerAloneWhateverTheStorageCreates() throws IOException {
        PersistentIOBuilder.STORAGE.set(new LocalFiles() {
            @Override
            public void copyToLocalFile(Path from, Path to) throws IOException {
                super.copyToLocalFile(from, to);
                Files.setPosixFilePermissions(
                        Paths.get(to.toString()), PosixFilePermissions.fromString("rw-r--r--"));
            }
        });
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        store.drop();
        store.recovery(1);
        assertEquals("first", store.get("a"));
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(local(0).resolve("state.ful"))));
    }

    @Test
    void copiesThatThrowUncheckedExceptionsAreRepeated() {
        int[] failures = {2, 2};
        PersistentIOBuilder.STORAGE.set(new LocalFiles() {
            @Override
            public void copyFromLocalFile(Path from, Path to) throws IOException {
                if (failures[0]-- > 0) {
                    throw new IllegalStateException("planted");
                }
                super.copyFromLocalFile(from, to);
            }

            @Override
            public void copyToLocalFile(Path from, Path to) throws IOException {
                if (failures[1]-- > 0) {
                    throw new IllegalStateException("planted");
                }
                super.copyToLocalFile(from, to);
            }
        });
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        store.drop();
        store.recovery(1);
        assertEquals("first", store.get("a"));
        failures[0] = 3;
        store.put("a", "second");
        GeaflowRuntimeException failed = assertThrows(GeaflowRuntimeException.class, () -> store.archive(2));
        assertTrue(failed.getMessage().contains("cannot archive checkpoint 2"), failed.getMessage());
    }
}
