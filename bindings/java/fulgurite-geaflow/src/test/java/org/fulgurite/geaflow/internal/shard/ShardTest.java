package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.config.Configuration;
import org.fulgurite.Checkpoints;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The memory of shards, without metrics and without a quota, and calls of several changes. */
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

    @Test
    void aCallOfSeveralChangesIsMadeWholeOrNotAtAll() {
        StoreSettings settings = new StoreSettings(new Configuration(Collections.emptyMap()));
        Shard shard = Shard.open(settings, directory.resolve("shard"), Collections.singletonList("t"));
        try {
            shard.put(0, new byte[] {1}, new byte[5_000]);
            // They are too large for a buffer. There is no second table, so the second one is refused.
            ShardEntry first = new ShardEntry(0, new byte[] {2}, new byte[5_000]);
            ShardEntry second = new ShardEntry(1, new byte[] {3}, new byte[5_000]);
            assertThrows(IndexOutOfBoundsException.class, () -> shard.putAll(Arrays.asList(first, second)));
            shard.putAll(Arrays.asList(first, ShardEntry.deletion(0, new byte[] {1})));
            assertThrows(
                    IndexOutOfBoundsException.class,
                    () -> shard.putAll(Arrays.asList(ShardEntry.deletion(0, new byte[] {2}), second)));
            shard.flush();
            assertNull(shard.get(0, new byte[] {1}));
            assertEquals(5_000, shard.get(0, new byte[] {2}).length);
            assertEquals(1, shard.countEntries());
        } finally {
            shard.close();
        }
    }

    @Test
    void theNameOfAProxyHasItsInterfacesAndNoNumber() {
        Class<?>[] interfaces = {Runnable.class, Comparable.class};
        Object proxy = Proxy.newProxyInstance(
                ShardTest.class.getClassLoader(), interfaces, (self, method, arguments) -> null);
        assertEquals("proxy of java.lang.Runnable+java.lang.Comparable", ShardStore.className(proxy));
    }

    /** Each shard may have 64 KiB, however many there are. */
    @Test
    void changesOfManyShardsAreCommittedWhenTheyAreTooManyTogether() {
        Map<String, String> configuration = new HashMap<>();
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        configuration.put("geaflow.state.write.async.enable", "false");
        StoreSettings settings = new StoreSettings(new Configuration(configuration));
        List<Shard> shards = new ArrayList<>();
        Shard idle = Shard.open(settings, directory.resolve("idle"), Collections.singletonList("t"));
        try {
            // Its transaction is the oldest one, and has no changes: this one is in a buffer.
            idle.put(0, new byte[] {0}, new byte[5_000]);
            idle.flush();
            idle.put(0, new byte[] {1}, new byte[1]);
            for (int number = 0; number < 20; number++) {
                Path path = directory.resolve("shard " + number);
                Shard shard = Shard.open(settings, path, Collections.singletonList("t"));
                shards.add(shard);
                for (int key = 0; key < 12; key++) {
                    shard.put(0, new byte[] {(byte) key}, new byte[5_000]);
                }
            }
            long uncommitted = shards.stream().filter(shard -> shard.queue.hasChanges()).count();
            // As many as have 512 KiB together.
            assertTrue(uncommitted >= 1 && uncommitted <= 9, uncommitted + " shards have changes");
            assertFalse(shards.get(0).queue.hasChanges(), "those of the oldest shard are committed");
            assertTrue(idle.queue.hasChanges(), "a commit of this shard would not make them fewer");
            shards.forEach(shard -> assertEquals(5_000, shard.get(0, new byte[] {11}).length));
        } finally {
            idle.close();
            shards.forEach(Shard::close);
        }
    }
}
