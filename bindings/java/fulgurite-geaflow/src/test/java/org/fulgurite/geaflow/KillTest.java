package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.keys.KeyValueStore;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;
import org.junit.jupiter.api.Test;

/**
 * A virtual machine that archives is killed. The next one recovers the newest committed checkpoint, whole, and goes on
 * from there. The system property {@code fulgurite.kills} sets how often.
 */
class KillTest extends WithJob {
    private static final int KILLS = Integer.getInteger("fulgurite.kills", 10);
    private static final int KEYS = 200;
    private static final int LONGEST_RUN_MS = 300;

    /** What the killed virtual machines run: archives states, and prints the number of each after its archive. */
    static final class Archiver {
        public static void main(String[] arguments) {
            Map<String, String> configuration = new HashMap<>();
            configuration.put("geaflow.job.runtime.name", JOB);
            configuration.put("geaflow.work.path", arguments[0]);
            configuration.put("geaflow.file.persistent.root", arguments[1]);
            PersistentIOBuilder.STORAGE.set(new LocalFiles());
            IKVStatefulStore<String, String> store = new KeyValueStore<>();
            store.init(new StoreContext(STATE)
                    .withConfig(new Configuration(configuration))
                    .withKeySerializer(new Texts()));
            for (long id = Math.max(0, store.recoveryLatest()) + 1; ; id++) {
                for (int key = 0; key < KEYS; key++) {
                    store.put("key " + key, "state " + id);
                }
                store.archive(id);
                System.out.println(id);
            }
        }
    }

    @Test
    void theNewestCommittedCheckpointIsRecoveredWhole() throws Exception {
        Random random = new Random(3);
        long newest = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            long acknowledged = Math.max(newest, runAndKill(random));
            IKVStatefulStore<String, String> store = values();
            newest = store.recoveryLatest();
            assertTrue(newest >= acknowledged, newest + " was recovered, and " + acknowledged + " had been archived");
            for (int key = 0; key < KEYS; key++) {
                assertEquals("state " + newest, store.get("key " + key));
            }
            store.drop();
        }
        assertTrue(newest > KILLS, newest + " checkpoints");
    }

    /** Returns the last number that an archiver has printed before it was killed. */
    private long runAndKill(Random random) throws Exception {
        Path printed = directory.resolve("printed");
        Files.deleteIfExists(printed);
        Process process = new ProcessBuilder(
                        Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        Archiver.class.getName(),
                        directory.resolve("work").toString(),
                        directory.resolve("root").toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(printed.toFile())
                .start();
        try {
            while (process.isAlive() && bytes(printed) == 0) {
                Thread.sleep(1);
            }
            Thread.sleep(random.nextInt(LONGEST_RUN_MS));
        } finally {
            process.destroyForcibly();
        }
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        List<String> lines = Files.readAllLines(printed);
        assertFalse(lines.isEmpty(), "the archiver has archived nothing");
        return Long.parseLong(lines.get(lines.size() - 1));
    }
}
