package org.fulgurite.geaflow;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.config.keys.ExecutionConfigKeys;
import org.apache.geaflow.file.FileConfigKeys;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.schema.GraphDataSchema;
import org.apache.geaflow.state.serializer.DefaultKMapSerializer;
import org.apache.geaflow.state.serializer.DefaultKVSerializer;
import org.apache.geaflow.state.serializer.IKeySerializer;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.shard.ShardDirectory;

/**
 * {@link RocksdbMigration} as a command: migrates shards of a state, one after the other. {@code --help} prints its
 * options.
 */
public final class RocksdbMigrationCommand {
    static final String HELP = "Usage: java -cp CLASS_PATH org.fulgurite.geaflow.RocksdbMigrationCommand OPTIONS\n"
            + "\n"
            + "Reads a checkpoint of GeaFlow's RocksDB store, and archives the same state with Fulgurite below\n"
            + "another root. Every record is compared before a shard is archived. RocksDB's checkpoint stays as it\n"
            + "is. The class path has the jars of Fulgurite and of the job, with geaflow-store-rocksdb.\n"
            + "\n"
            + "  --properties FILE   the configuration of the job, as Java properties\n"
            + "  --state NAME        the name of the state\n"
            + "  --model MODEL       KV, KList, KMap, STATIC_GRAPH or DYNAMIC_GRAPH\n"
            + "  --shards LIST       numbers and ranges of shards, such as 0-15 or 0,3,8-9\n"
            + "  --checkpoint ID     the number of the checkpoint\n"
            + "  --to ROOT           geaflow.file.persistent.root of the new state\n"
            + "  --key CLASS         the class of keys; for KV, KList and KMap\n"
            + "  --value CLASS       the class of values, of a list's elements or of a map's values; for KV, KList, KMap\n"
            + "  --entry CLASS       the class of the keys in maps; for KMap\n"
            + "  --schema CLASS      for graphs: a java.util.function.Supplier of the GraphDataSchema of the state,\n"
            + "                      with a public constructor without arguments\n"
            + "\n"
            + "If a state has a serializer of its own, call RocksdbMigration.migrate instead.\n"
            + "Exit codes: 0 all shards are migrated, 1 a shard is not, 2 the options are wrong.";

    private static final List<String> OPTIONS = Collections.unmodifiableList(Arrays.asList(
            "--properties", "--state", "--model", "--shards", "--checkpoint", "--to", "--key", "--value", "--entry",
            "--schema"));

    private static final int SHARDS_MAX = 1 << 20;

    private final Map<String, String> options;
    private final DataModel model;
    private final SortedSet<Integer> shards;
    private final long checkpointId;
    private final Map<String, String> configuration;
    private final IKeySerializer<?> serializer;
    private final IKeySerializer<?> newSerializer;
    private final GraphDataSchema schema;

    /** Reads the options. Throws an {@link IllegalArgumentException} if they are wrong. */
    private RocksdbMigrationCommand(String[] arguments) {
        options = options(arguments);
        model = model(option("--model"));
        shards = shards(option("--shards"));
        checkpointId = number("--checkpoint", option("--checkpoint"));
        configuration = configuration(option("--properties"));
        option("--state");
        option("--to");
        boolean isGraph = model == DataModel.STATIC_GRAPH || model == DataModel.DYNAMIC_GRAPH;
        schema = isGraph ? schema(type("--schema")) : null;
        if (isGraph) {
            serializer = null;
            newSerializer = null;
            return;
        }
        Class<?> keys = type("--key");
        Class<?> values = type("--value");
        switch (model) {
            case KList:
                serializer = new DefaultKVSerializer<>(keys, List.class);
                newSerializer = new DefaultKVSerializer<>(keys, values);
                break;
            case KMap:
                serializer = new DefaultKVSerializer<>(keys, Map.class);
                newSerializer = new DefaultKMapSerializer<>(keys, type("--entry"), values);
                break;
            default:
                serializer = new DefaultKVSerializer<>(keys, values);
                newSerializer = serializer;
        }
    }

    /**
     * Runs the command, and ends the process with its exit code.
     *
     * @param arguments the options
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments, System.out, System.err));
    }

    /** Runs the command. Returns its exit code. */
    static int run(String[] arguments, PrintStream out, PrintStream err) {
        if (Arrays.asList(arguments).contains("--help")) {
            out.println(HELP);
            return 0;
        }
        RocksdbMigrationCommand command;
        try {
            command = new RocksdbMigrationCommand(arguments);
        } catch (IllegalArgumentException wrong) {
            err.println(wrong.getMessage() + "\n--help lists the options");
            return 2;
        }
        return command.migrate(out, err) ? 0 : 1;
    }

    private boolean migrate(PrintStream out, PrintStream err) {
        Path work = null;
        try {
            // Local files of the job stay as they are.
            work = Files.createTempDirectory("fulgurite-migration");
            configuration.put(ExecutionConfigKeys.JOB_WORK_PATH.getKey(), work.toString());
            return migrate(new HashMap<>(configuration), out, err);
        } catch (IOException failed) {
            err.println("no temporary directory can be created: " + failed + "; set -Djava.io.tmpdir=DIRECTORY");
            return false;
        } finally {
            if (work != null) {
                ShardDirectory.deleteAll(work);
            }
        }
    }

    private boolean migrate(Map<String, String> newConfiguration, PrintStream out, PrintStream err) {
        newConfiguration.put(FileConfigKeys.ROOT.getKey(), option("--to"));
        long sum = 0;
        for (int shard : shards) {
            try {
                long records = RocksdbMigration.migrate(
                        model,
                        context(configuration, shard, serializer),
                        context(newConfiguration, shard, newSerializer),
                        checkpointId,
                        text -> out.println("shard " + shard + ": " + text));
                out.println("shard " + shard + ": " + records + " records are migrated, all were compared");
                sum += records;
            } catch (RuntimeException | LinkageError failed) {
                err.println("shard " + shard + ": " + reason(failed));
                err.println("shards from " + shard + " on are not migrated; run the command again with --shards "
                        + numbers(shards.tailSet(shard)));
                return false;
            }
        }
        out.println(shards.size() + " shards with " + sum + " records are migrated to " + option("--to"));
        return true;
    }

    private static String reason(Throwable failed) {
        if (failed instanceof NoClassDefFoundError) {
            return failed + "; the class path must have the jars of the job, with geaflow-store-rocksdb and rocksdbjni";
        }
        return failed.getMessage() == null ? failed.toString() : failed.getMessage();
    }

    private StoreContext context(Map<String, String> of, int shard, IKeySerializer<?> serializer) {
        return new StoreContext(option("--state"))
                .withConfig(new Configuration(of))
                .withShardId(shard)
                .withKeySerializer(serializer)
                .withDataSchema(schema);
    }

    private static Map<String, String> options(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (int place = 0; place < arguments.length; place += 2) {
            String name = arguments[place];
            if (!OPTIONS.contains(name)) {
                throw new IllegalArgumentException("there is no option " + name);
            }
            if (place + 1 == arguments.length) {
                throw new IllegalArgumentException(name + " needs a value");
            }
            options.put(name, arguments[place + 1]);
        }
        return options;
    }

    /** The value of a required option. */
    private String option(String name) {
        String value = options.get(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    private static DataModel model(String name) {
        return Arrays.stream(DataModel.values())
                .filter(model -> model.name().equalsIgnoreCase(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("--model is \"" + name + "\", and must be one of "
                        + Arrays.toString(DataModel.values())));
    }

    /** The numbers of a list such as {@code 0,3,8-9}. */
    static SortedSet<Integer> shards(String list) {
        SortedSet<Integer> shards = new TreeSet<>();
        for (String part : list.split(",", -1)) {
            String[] ends = part.split("-", -1);
            long first = number("--shards", ends[0]);
            long last = number("--shards", ends[ends.length - 1]);
            if (ends.length > 2 || last < first || last >= SHARDS_MAX) {
                throw new IllegalArgumentException(
                        "--shards has \"" + part + "\", which is neither a shard nor a range of shards, such as 0-15");
            }
            for (long shard = first; shard <= last; shard++) {
                shards.add((int) shard);
            }
        }
        return shards;
    }

    /** A list of numbers in the form of {@link #shards(String)}. */
    static String numbers(SortedSet<Integer> shards) {
        StringBuilder list = new StringBuilder();
        int first = -1;
        int last = -1;
        for (int shard : shards) {
            if (first >= 0 && shard == last + 1) {
                last = shard;
                continue;
            }
            addRange(list, first, last);
            first = shard;
            last = shard;
        }
        return addRange(list, first, last).toString();
    }

    private static StringBuilder addRange(StringBuilder list, int first, int last) {
        if (first < 0) {
            return list;
        }
        list.append(list.length() == 0 ? "" : ",").append(first);
        return last > first ? list.append('-').append(last) : list;
    }

    private static long number(String option, String text) {
        try {
            long number = Long.parseLong(text.trim());
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            // It is reported below.
        }
        throw new IllegalArgumentException(option + " has \"" + text + "\", which is not a number from 0 on");
    }

    private static Map<String, String> configuration(String file) {
        Properties properties = new Properties();
        try (InputStream stream = Files.newInputStream(Paths.get(file))) {
            properties.load(stream);
        } catch (NoSuchFileException missing) {
            throw new IllegalArgumentException("--properties: there is no file " + file, missing);
        } catch (IOException failed) {
            throw new IllegalArgumentException("--properties: " + file + " cannot be read: " + failed, failed);
        }
        Map<String, String> values = new HashMap<>();
        properties.forEach((key, value) -> values.put((String) key, (String) value));
        if (!values.containsKey(FileConfigKeys.ROOT.getKey())) {
            throw new IllegalArgumentException("--properties: " + file + " has no " + FileConfigKeys.ROOT.getKey()
                    + ", where RocksDB's checkpoints are");
        }
        return values;
    }

    /** The class that an option names. */
    private Class<?> type(String option) {
        String name = option(option);
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException | LinkageError missing) {
            throw new IllegalArgumentException(
                    option + ": there is no class " + name + " on the class path (" + missing + ")", missing);
        }
    }

    private static GraphDataSchema schema(Class<?> type) {
        try {
            Object made = type.getConstructor().newInstance();
            Object schema = made instanceof Supplier ? ((Supplier<?>) made).get() : made;
            if (schema instanceof GraphDataSchema) {
                return (GraphDataSchema) schema;
            }
        } catch (ReflectiveOperationException failed) {
            throw new IllegalArgumentException("--schema: " + type.getName() + ": " + failed, failed);
        }
        throw new IllegalArgumentException(
                "--schema: " + type.getName() + " is not a java.util.function.Supplier of a GraphDataSchema");
    }
}
