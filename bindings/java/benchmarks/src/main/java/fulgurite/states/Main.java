package fulgurite.states;

import fulgurite.states.Workload.Session;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Measures states of GeaFlow with Fulgurite and with RocksDB, in turn, in one virtual machine. Figures are the
 * processor time of the whole process, the median of the rounds, after rounds that do not count.
 */
public final class Main {
    private static final String USAGE =
            "usage: bench geaflow java [--quick] [--only PART,PART] [--rounds N] [--operations N]"
                    + " [--directory DIR]";

    private boolean isQuick;
    private List<String> only = new ArrayList<>();
    private int rounds = 5;

    /** Reads or writes of a round, where they are short. */
    private int operations = 400_000;

    private Path directory = Path.of(".");

    private int met;
    private final List<String> missed = new ArrayList<>();

    private Main() {}

    /** Runs the benchmark. The exit code is 1 if a bar is missed, and 2 if the arguments are wrong. */
    public static void main(String[] arguments) throws Exception {
        Main main = new Main();
        if (!main.parse(arguments)) {
            System.err.println(USAGE);
            System.exit(2);
        }
        List<Workload> chosen = main.choose();
        if (chosen.isEmpty() && !main.isChosen(IdleShards.NAME) && !main.isChosen(IdleShards.ACTIVE)) {
            main.printNames();
            System.exit(2);
        }
        System.exit(main.measureAll(chosen) ? 0 : 1);
    }

    private boolean parse(String[] arguments) {
        for (int at = 0; at < arguments.length; at++) {
            boolean hasValue = at + 1 < arguments.length;
            if (arguments[at].equals("--quick")) {
                isQuick = true;
            } else if (arguments[at].equals("--only") && hasValue) {
                only = Arrays.asList(arguments[++at].split(","));
            } else if (arguments[at].equals("--rounds") && hasValue && arguments[at + 1].matches("[1-9][0-9]?")) {
                rounds = Integer.parseInt(arguments[++at]);
            } else if (arguments[at].equals("--operations") && hasValue && arguments[at + 1].matches("[1-9][0-9]{3,6}")) {
                operations = Integer.parseInt(arguments[++at]);
            } else if (arguments[at].equals("--directory") && hasValue) {
                directory = Path.of(arguments[++at]);
            } else {
                System.err.println("`" + arguments[at] + "` is not understood here");
                return false;
            }
        }
        return true;
    }

    private List<Workload> all() {
        List<Workload> all = new ArrayList<>(KeyWorkloads.all(isQuick ? 10_000 : 1_000_000, isQuick ? 20_000 : operations));
        all.addAll(GraphWorkloads.all(isQuick ? 2_000 : 100_000, isQuick ? 10_000 : operations / 2));
        all.addAll(CheckpointWorkloads.all(isQuick ? 20_000 : 1_000_000));
        return all;
    }

    /** Whether `--only` names a workload, or is absent. */
    private boolean isChosen(String name) {
        return only.isEmpty() || only.stream().anyMatch((name + "_")::contains);
    }

    private List<Workload> choose() {
        return all().stream().filter(workload -> isChosen(workload.name)).collect(Collectors.toList());
    }

    private void printNames() {
        System.err.println("no workload has a part of these names: " + only);
        all().forEach(workload -> System.err.println("  " + workload.name + ": " + workload.about));
        System.err.println("  " + IdleShards.NAME + ": " + IdleShards.ABOUT);
        System.err.println("  " + IdleShards.ACTIVE + ": " + IdleShards.ACTIVE_ABOUT);
    }

    private boolean measureAll(List<Workload> chosen) throws Exception {
        System.out.printf(
                "%-26s %12s %12s %7s %10s %10s  %s%n",
                "workload", "fulgurite", "rocksdbjni", "ratio", "wall", "wall", "claims of the report");
        System.out.printf("%-26s %12s %12s %7s %10s %10s%n", "", "CPU ns/op", "CPU ns/op", "", "µs/op", "µs/op");
        for (Workload workload : chosen) {
            measure(workload);
        }
        if (isChosen(IdleShards.NAME) || isChosen(IdleShards.ACTIVE)) {
            measureShards();
        }
        if (isQuick) {
            System.out.println("--quick judges no bar");
            return true;
        }
        missed.forEach(System.out::println);
        System.out.println("bars: " + met + " of " + (met + missed.size()) + " met");
        return missed.isEmpty();
    }

    /** One engine with the states of a workload, and its figures of each round. */
    private static final class Measured implements AutoCloseable {
        final States states;
        final Path directory;
        final Session session;
        final List<Double> cpuNs = new ArrayList<>();
        final List<Double> wallNs = new ArrayList<>();
        long answer;
        long firstBytes;
        long lastBytes;

        Measured(States states, Workload workload, Path parent) throws Exception {
            this.states = states;
            directory = Scratch.create(parent);
            session = workload.opening.open(states, directory);
            firstBytes = states.bytesSent();
        }

        void round(boolean counts) throws Exception {
            session.prepare();
            System.gc();
            long bytes = states.bytesSent();
            long cpu = ProcessorTime.now();
            long wall = System.nanoTime();
            answer = session.run();
            double wallOfOne = (double) (System.nanoTime() - wall) / session.operations;
            double cpuOfOne = (double) (ProcessorTime.now() - cpu) / session.operations;
            lastBytes = states.bytesSent() - bytes;
            if (counts) {
                wallNs.add(wallOfOne);
                cpuNs.add(cpuOfOne);
            }
        }

        @Override
        public void close() throws Exception {
            session.close();
            Scratch.delete(directory);
        }
    }

    private void measure(Workload workload) throws Exception {
        try (Measured ours = new Measured(new FulguriteStates(), workload, directory);
                Measured theirs = new Measured(new RocksStates(), workload, directory)) {
            List<Double> ratios = new ArrayList<>();
            for (int round = -WARM_UPS; round < (isQuick ? 1 : rounds); round++) {
                // Neither engine always runs behind the other.
                for (Measured measured : round % 2 == 0 ? Arrays.asList(ours, theirs) : Arrays.asList(theirs, ours)) {
                    measured.round(round >= 0);
                }
                if (ours.answer != theirs.answer) {
                    throw new IllegalStateException(
                            workload.name + ": the engines have read " + ours.answer + " and " + theirs.answer);
                }
                if (round >= 0) {
                    ratios.add(ours.cpuNs.get(round) / theirs.cpuNs.get(round));
                }
            }
            report(workload, ours, theirs, median(ratios));
        }
    }

    private void measureShards() throws Exception {
        IdleShards.Figures found = IdleShards.measure(directory, isQuick ? QUICK_SHARDS : SHARDS);
        if (isChosen(IdleShards.NAME)) {
            System.out.printf(
                    "%-26s %.1f MiB, %d descriptors, %d threads, %d of them awake; %d shards%n",
                    IdleShards.NAME, found.memoryMib(), found.descriptors, found.threads, found.awake, found.shards);
            judge(IdleShards.NAME, found.memoryMib(), IDLE_MIB, " MiB");
            judge(IdleShards.NAME, found.awake, 0, " threads awake");
        }
        if (isChosen(IdleShards.ACTIVE)) {
            System.out.printf(
                    "%-26s %12d CPU ns/op, %.1f MiB; %d shards%n",
                    IdleShards.ACTIVE, found.activeNs, found.activeMib(), found.shards);
        }
    }

    private void report(Workload workload, Measured ours, Measured theirs, double ratio) {
        System.out.printf(
                "%-26s %12.0f %12.0f %7.2f %10.2f %10.2f  %s%n",
                workload.name,
                median(ours.cpuNs),
                median(theirs.cpuNs),
                ratio,
                median(ours.wallNs) / 1000,
                median(theirs.wallNs) / 1000,
                workload.report);
        if (workload.bar != null) {
            boolean isRatio = workload.bar.of == Workload.Bar.Of.RATIO;
            double found = isRatio ? ratio : median(ours.wallNs) / 1_000_000;
            String unit = isRatio ? " times RocksDB's processor time" : " ms";
            judge(workload.name, found, workload.bar.most, unit);
        } else if (workload.name.startsWith("checkpoint_changes")) {
            System.out.printf(
                    "%-26s %d of %d bytes sent; rocksdbjni %d of %d%n",
                    "", ours.lastBytes, ours.firstBytes, theirs.lastBytes, theirs.firstBytes);
            judge(workload.name, 100.0 * ours.lastBytes / ours.firstBytes, CHANGES_PERCENT, " % of the bytes");
        }
    }

    private void judge(String name, double found, double most, String unit) {
        if (found <= most) {
            met++;
        } else {
            missed.add(String.format("missed: %s: %.2f%s, the bar is %.2f", name, found, unit, most));
        }
    }

    private static double median(List<Double> figures) {
        return figures.stream().sorted().collect(Collectors.toList()).get(figures.size() / 2);
    }

    private static final int WARM_UPS = 4;
    private static final double CHANGES_PERCENT = 3;
    private static final int SHARDS = 1_000;
    private static final int QUICK_SHARDS = 50;

    /** For {@link #SHARDS} together. */
    private static final double IDLE_MIB = 64;
}
