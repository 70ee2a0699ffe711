package org.fulgurite.geaflow.internal.errors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * On a full disk, a commit lost the changes of a shard with the words of the engine: "try again; nothing was lost". A
 * full quota named an option that a configuration of GeaFlow does not have.
 */
class EngineErrorsTest {
    private static final String KEY = "geaflow.store.lmdb.map.size";
    private static final Path FILE = Paths.get("work/state.ful");
    private static final StorageFullException DISK = new StorageFullException(
            ErrorKind.DISK_FULL,
            "work/state.ful: no space to grow (No space left on device (os error 28)); free space, delete in smaller "
                    + "transactions, or raise the disk quota or file size limit, and try again; nothing was lost");
    private static final StorageFullException QUOTA = new StorageFullException(
            ErrorKind.QUOTA_EXCEEDED,
            "work/state.ful: 2008192 bytes would pass the quota of 2000000; reopen with a larger maximum size, nothing "
                    + "was lost");

    private static void lost(Throwable failed, String expected) {
        GeaflowRuntimeException lost = EngineErrors.lost(FILE, failed, KEY);
        assertEquals(
                "changes of work/state.ful after its last commit could not be committed and are lost; " + expected,
                lost.getMessage());
        assertNotNull(lost.getCause());
        // A log has the causes too.
        assertFalse(lost.getCause().getMessage().contains("nothing was lost"), lost.getCause().getMessage());
    }

    @Test
    void lostChangesAreNamedWithoutTheRemedyOfTheEngine() {
        lost(
                DISK,
                "free space on the disk, then recover a checkpoint: work/state.ful: no space to grow (No space left on "
                        + "device (os error 28))");
        lost(
                QUOTA,
                "set geaflow.store.lmdb.map.size to a larger size, then recover a checkpoint: work/state.ful: 2008192 "
                        + "bytes would pass the quota of 2000000");
        lost(
                new FulguriteException(ErrorKind.POISONED, "work/state.ful: a sync has failed; reopen it"),
                "recover a checkpoint: work/state.ful: a sync has failed");
        lost(
                new FulguriteException(ErrorKind.POISONED, "work; old/state.ful: a sync has failed; reopen it"),
                "recover a checkpoint: work; old/state.ful: a sync has failed");
        lost(
                new FulguriteException(ErrorKind.CLOSED, "the database is closed; open it again"),
                "recover a checkpoint: the database is closed");
        lost(
                new IllegalStateException("one; two"),
                "recover a checkpoint: java.lang.IllegalStateException: one; two");
    }

    private static void notOpened(ErrorKind kind, String message, String expected) {
        RuntimeException thrown = EngineErrors.notOpened(new FulguriteException(kind, message), "the store s, shard 3", FILE);
        String directory = FILE.toAbsolutePath().getParent().toString();
        assertEquals(
                "cannot open the store s, shard 3: " + expected.replace("DIRECTORY", directory), thrown.getMessage());
    }

    @Test
    void aFileThatCannotBeOpenedHasARemedyForAJob() {
        notOpened(
                ErrorKind.LOCKED,
                "work/state.ful: another process has this database open for writing (pid 7); close it, wait for it, or "
                        + "open read-only",
                "work/state.ful: another process has this database open for writing (pid 7); end that process, or set "
                        + "geaflow.work.path to another directory");
        notOpened(
                ErrorKind.LOCKED,
                "work/state.ful: this process already has the database open for writing; use the database that is open, "
                        + "or end the transactions that a closed handle left open",
                "work/state.ful: this process already has the database open for writing; close it there, or set "
                        + "geaflow.work.path to another directory");
        notOpened(
                ErrorKind.IO,
                "work/state.ful-lock: lock failed: Permission denied (os error 13); or open read-only",
                "work/state.ful-lock: lock failed: Permission denied (os error 13); check the directory DIRECTORY and its "
                        + "permissions, or set geaflow.work.path to another");
        notOpened(
                ErrorKind.UNSUPPORTED_FORMAT,
                "work/state.ful: was written by a newer version; upgrade",
                "work/state.ful: was written by a newer version; use the version of Fulgurite that wrote it; or delete the "
                        + "directory DIRECTORY, and recover a checkpoint");
        // An error of another file keeps its remedy.
        notOpened(ErrorKind.CORRUPT, "data/segment-1 is damaged; try another", "data/segment-1 is damaged; try another");
        assertSame(DISK, EngineErrors.notOpened(DISK, "the store s, shard 3", FILE));
        assertSame(DISK, EngineErrors.ofOpen(DISK, "the store s, shard 3", FILE));
    }

    /** The engine names the file that a symbolic link leads to, and a job the link, such as /var/run. */
    @Test
    void aFileBehindASymbolicLinkHasARemedyForAJob(@TempDir Path directory) throws IOException {
        Path real = Files.createDirectory(directory.resolve("real")).toRealPath();
        Path link = Files.createSymbolicLink(directory.resolve("link"), real);
        String damaged = real.resolve("state.ful") + ": is damaged; ";
        FulguriteException damage = new FulguriteException(ErrorKind.CORRUPT, damaged + "restore a backup");
        for (Path of : new Path[] {link, link.resolve("."), real.resolve("..").resolve("link")}) {
            assertEquals(
                    "the store s, shard 3: " + damaged + "delete the directory " + of + ", and recover a checkpoint",
                    EngineErrors.ofOpen(damage, "the store s, shard 3", of.resolve("state.ful")).getMessage());
        }
    }

    @Test
    void aQuotaThatRefusesACallIsNamedByItsKey() {
        StorageFullException refused = EngineErrors.refused(QUOTA, KEY);
        assertEquals(ErrorKind.QUOTA_EXCEEDED, refused.kind());
        assertEquals(
                "work/state.ful: 2008192 bytes would pass the quota of 2000000; set geaflow.store.lmdb.map.size to a "
                        + "larger size and open the state again; nothing was lost",
                refused.getMessage());
        assertSame(refused, EngineErrors.refused(refused, KEY));
        assertSame(DISK, EngineErrors.refused(DISK, KEY));
    }
}
