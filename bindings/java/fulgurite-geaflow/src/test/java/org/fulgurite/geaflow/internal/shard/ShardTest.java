package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Collections;
import org.apache.geaflow.common.config.Configuration;
import org.fulgurite.Checkpoints;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a shard says of its memory, without metrics and without a quota. */
class ShardTest {
    @TempDir
    Path directory;

    @Test
    void aCheckpointCorrectsTheBytesThatAreNotInTheFile() {
        StoreSettings settings = new StoreSettings(new Configuration(Collections.emptyMap()));
        Shard shard = Shard.open(settings, directory.resolve("shard"), Collections.singletonList("t"));
        try (Checkpoints checkpoints = new Checkpoints(new DirectoryStorage(directory.resolve("checkpoints")))) {
            shard.put(0, new byte[] {1}, new byte[10_000]);
            shard.flush();
            long estimated = shard.committedBytes();
            assertTrue(estimated > 10_000, estimated + " bytes");
            shard.createCheckpoint(checkpoints, 1);
            // The engine counts its memory, of which a file that is almost empty has more.
            assertNotEquals(estimated, shard.committedBytes());
        } finally {
            shard.close();
        }
    }
}
