package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.graph.StaticGraphStore;
import org.fulgurite.geaflow.internal.keys.KeyListStore;
import org.fulgurite.geaflow.internal.keys.KeyMapStore;
import org.fulgurite.geaflow.internal.keys.KeyValueStore;
import org.fulgurite.geaflow.internal.shard.ShardDirectory;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;
import org.junit.jupiter.api.Test;

/**
 * A virtual machine that archives or recovers states of all kinds is killed. The next one recovers the newest committed
 * checkpoint, whole, and goes on from there. The system property {@code fulgurite.kills} sets how often.
 * {@code fulgurite.halts.stride} sets how far apart the steps of archives are that are the last of a virtual machine: 1
 * for each of them. {@code fulgurite.halts.seed} chooses the first one.
 */
class KillTest extends WithJob {
    private static final int KILLS = Integer.getInteger("fulgurite.kills", 8);
    private static final int HALTS_STRIDE = Integer.getInteger("fulgurite.halts.stride", 6);

    /** Both archives copy data, a manifest and _commit, with two steps each. */
    private static final int HALT_STEPS = 12;

    private static final int KEYS = 200;
    private static final int COLLECTIONS = 10;
    private static final int LONGEST_RUN_MS = 300;
    private static final int LONGEST_RECOVERY_MS = 60;

    /** What is printed before states are recovered. */
    private static final String RECOVERING = "recovering";

    /** The states of a job. Their values are archived last: if a checkpoint of them is committed, all have it. */
    private static final class States {
        private final KeyValueStore<String, String> values = new KeyValueStore<>();
        private final KeyListStore<String, String> lists = new KeyListStore<>();
        private final KeyMapStore<String, String, String> maps = new KeyMapStore<>();
        private final StaticGraphStore<String, String, String> graph = new StaticGraphStore<>();
        private final List<IStatefulStore> others = Arrays.asList(lists, maps, graph);

        States(Map<String, String> configuration) {
            GraphKVEncoderFactory.ENCODER.set(Elements.encoder(Elements.TEXTS, true));
            values.init(context("values", configuration));
            lists.init(context("lists", configuration));
            maps.init(context("maps", configuration));
            graph.init(context("graph", configuration));
        }

        private static StoreContext context(String name, Map<String, String> configuration) {
            return new StoreContext(name)
                    .withConfig(new Configuration(new HashMap<>(configuration)))
                    .withDataSchema(new Elements.Schema())
                    .withKeySerializer(new Texts());
        }

        /** Makes the states those of a checkpoint, whatever they were before. */
        void change(long id) {
            String state = "state " + id;
            for (int key = 0; key < KEYS; key++) {
                values.put("key " + key, state);
                maps.add("map " + key % COLLECTIONS, "key " + key, state);
                graph.addVertex(new Elements.Node<>("vertex " + key, "label", 1, state));
            }
            for (int list = 0; list < COLLECTIONS; list++) {
                lists.remove("list " + list);
                lists.add("list " + list, state, "end of " + state);
            }
        }

        void check(long id) {
            String state = "state " + id;
            for (int key = 0; key < KEYS; key++) {
                assertEquals(state, values.get("key " + key));
                assertEquals(state, graph.getVertex("vertex " + key, Conditions.none()).getValue());
            }
            for (int collection = 0; collection < COLLECTIONS; collection++) {
                assertEquals(Arrays.asList(state, "end of " + state), lists.get("list " + collection));
                Map<String, String> map = maps.get("map " + collection);
                assertEquals(KEYS / COLLECTIONS, map.size());
                map.values().forEach(value -> assertEquals(state, value));
            }
        }

        void archive(long id) {
            others.forEach(store -> store.archive(id));
            values.archive(id);
        }

        /** Recovers the newest checkpoint that all states have, and returns its number; -1 if there is none. */
        long recoverLatest() {
            long latest = values.recoveryLatest();
            if (latest > 0) {
                others.forEach(store -> store.recovery(latest));
            }
            return latest;
        }

        void drop() {
            others.forEach(IStatefulStore::drop);
            values.drop();
        }
    }

    /** Sets the storage of a virtual machine that is killed. Returns its configuration: a work path and a root. */
    private static Map<String, String> begin(String[] arguments) {
        Map<String, String> configuration = new HashMap<>();
        configuration.put("geaflow.job.runtime.name", JOB);
        configuration.put("geaflow.work.path", arguments[0]);
        configuration.put("geaflow.file.persistent.root", arguments[1]);
        PersistentIOBuilder.STORAGE.set(new LocalFiles());
        return configuration;
    }

    /** What the killed virtual machines run: archives states, and prints the number of each after its archive. */
    static final class Archiver {
        public static void main(String[] arguments) {
            Map<String, String> configuration = begin(arguments);
            States states = new States(configuration);
            System.out.println(RECOVERING);
            for (long id = Math.max(0, states.recoverLatest()) + 1; ; id++) {
                states.change(id);
                states.archive(id);
                System.out.println(id);
            }
        }
    }

    @Test
    void theNewestCommittedCheckpointIsRecoveredWhole() throws Exception {
        Random random = new Random(3);
        long newest = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            newest = Math.max(newest, runAndKill(2, random.nextInt(LONGEST_RUN_MS)));
            if (kill % 2 == 1) {
                // Before or while it recovers, and seldom after that.
                newest = Math.max(newest, runAndKill(1, random.nextInt(LONGEST_RECOVERY_MS)));
            }
            States states = new States(configuration);
            try {
                long recovered = states.recoverLatest();
                assertTrue(recovered >= newest, recovered + " was recovered, and " + newest + " had been archived");
                states.check(recovered);
                newest = recovered;
            } finally {
                states.drop();
            }
        }
        assertTrue(newest >= KILLS, newest + " checkpoints");
    }

    /** Archives values twice: all of them, then changes. Prints the number of each checkpoint afterwards. */
    static final class TwiceArchiver {
        private static final int KEYS_OF_BOTH = 2_000;

        public static void main(String[] arguments) {
            Map<String, String> configuration = begin(arguments);
            KeyValueStore<String, String> values = new KeyValueStore<>();
            values.init(States.context(STATE, configuration));
            for (int key = 0; key < KEYS_OF_BOTH; key++) {
                values.put("key " + key, "in every checkpoint");
            }
            for (int id = 1; id <= 2; id++) {
                values.put("state", "state " + id);
                values.archive(id);
                System.out.println(id);
            }
            values.close();
        }
    }

    @Test
    void anArchiveThatEndsAtAnyStepLeavesItsCheckpointWholeOrTheOneBefore() throws Exception {
        long seed = Long.getLong("fulgurite.halts.seed", System.nanoTime());
        System.out.println("-Dfulgurite.halts.seed=" + seed);
        for (int step = new Random(seed).nextInt(HALTS_STRIDE); step < HALT_STEPS; step += HALTS_STRIDE) {
            assertTrue(isHaltedAt(step), "the archiver has fewer steps than " + step);
        }
    }

    /** Has an archiver end at a step, recovers, and goes on. Returns false if the archiver had fewer steps. */
    private boolean isHaltedAt(int step) throws Exception {
        Path printed = directory.resolve("printed of step " + step);
        Process process = archiver(TwiceArchiver.class, printed, "-Dfulgurite.geaflow.halt=" + step);
        assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the archiver does not end");
        int code = process.exitValue();
        assertTrue(code == 0 || code == LocalFiles.HALTED, "exit code " + code + " at step " + step);
        long returned = Files.readAllLines(printed).size();
        IKVStatefulStore<String, String> store = values();
        long recovered = Math.max(0, store.recoveryLatest());
        assertTrue(recovered == returned || recovered == returned + 1, returned + " returned, recovered " + recovered);
        if (recovered > 0) {
            assertEquals("state " + recovered, store.get("state"));
            assertEquals("in every checkpoint", store.get("key 1999"));
        }
        store.put("state", "after the halt");
        store.archive(recovered + 1);
        store.drop();
        assertEquals(recovered + 1, store.recoveryLatest());
        assertEquals("after the halt", store.get("state"));
        store.drop();
        ShardDirectory.deleteAll(directory.resolve("root"));
        return code == LocalFiles.HALTED;
    }

    private Process archiver(Class<?> program, Path printed, String... options) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"));
        command.addAll(Arrays.asList(options));
        command.add(program.getName());
        command.add(directory.resolve("work").toString());
        command.add(directory.resolve("root").toString());
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(printed.toFile())
                .start();
    }

    /**
     * Runs an archiver, and kills it some time after it has printed so many lines. Returns the highest number that it
     * has printed, or 0.
     */
    private long runAndKill(int lines, int afterMs) throws Exception {
        Path printed = directory.resolve("printed");
        Files.deleteIfExists(printed);
        Process process = archiver(Archiver.class, printed);
        try {
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            while (process.isAlive() && Files.readAllLines(printed).size() < lines) {
                assertTrue(System.nanoTime() - deadline < 0, "the archiver does not get on");
                Thread.sleep(1);
            }
            Thread.sleep(afterMs);
        } finally {
            process.destroyForcibly();
        }
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        List<String> all = Files.readAllLines(printed);
        assertTrue(all.size() >= lines, () -> "the archiver ended after " + all);
        return all.stream().filter(line -> line.matches("[0-9]+")).mapToLong(Long::parseLong).max().orElse(0);
    }
}
