package org.fulgurite.geaflow.internal.runtime;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file system that cannot change the rights of a file failed the recovery of its shard. */
class RemoteStorageTest {
    @TempDir
    Path directory;

    @Test
    void rightsThatCannotBeChangedAreNoError() {
        // For lack of such a file system: the rights of a missing file cannot be changed either.
        Path missing = directory.resolve("missing");
        assertThrows(IOException.class, () -> Files.getPosixFilePermissions(missing));
        assertDoesNotThrow(() -> RemoteStorage.allowOwnerOnly(missing));
    }
}
