package org.fulgurite.rdf4j.processes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.eclipse.rdf4j.sail.SailLockedException;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another process has the store open, or this one under another name. */
class LockedTest {
    @TempDir
    Path directory;

    @Test
    void aStoreThatAnotherProcessHasOpenIsReportedAsLocked() throws Exception {
        try (HolderProcess holder = HolderProcess.start(directory)) {
            FulguriteStore store = new FulguriteStore(directory.toFile());
            SailLockedException locked = assertThrows(SailLockedException.class, store::init);
            Path file = directory.toRealPath().resolve(FulguriteStore.FILE_NAME);
            assertEquals(
                    file + ": another process has this store open for writing (pid " + holder.pid() + "); shut it down "
                            + "there, open it read-only here (readOnly), or let both programs use a server (`fulgurite "
                            + "rdf serve`)",
                    locked.getMessage());
            holder.end();
            store.init();
            store.shutDown();
        }
    }

    @Test
    void aStoreThatThisProcessHasOpenUnderAnotherNameIsReportedWithTheRemedyOfTheEngine() throws IOException {
        Path first = directory.resolve("first");
        FulguriteStore store = new FulguriteStore(first.toFile());
        store.init();
        Path second = Files.createDirectory(directory.resolve("second"));
        Files.createLink(second.resolve(FulguriteStore.FILE_NAME), first.resolve(FulguriteStore.FILE_NAME));
        FulguriteStore other = new FulguriteStore(second.toFile());
        String message = assertThrows(SailLockedException.class, other::init).getMessage();
        assertTrue(message.contains("; use the database that is open, or "), message);
        assertFalse(message.contains("shut it down there"), message);
        store.shutDown();
    }
}
