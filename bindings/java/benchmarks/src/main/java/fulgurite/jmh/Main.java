package fulgurite.jmh;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** Runs JMH with its own arguments, and judges what it has measured by the {@link Bars}. */
public final class Main {
    /** Arguments with which JMH measures nothing. */
    private static final Set<String> QUESTIONS = Set.of("-h", "-l", "-lp", "-lprof", "-lrf");

    private Main() {}

    /** Runs the benchmarks. Exits with 1 if a bar is missed or JMH fails, with 2 if JMH does not know an argument. */
    public static void main(String[] arguments) throws Exception {
        if (Arrays.stream(arguments).anyMatch(QUESTIONS::contains)) {
            org.openjdk.jmh.Main.main(arguments);
            return;
        }
        try {
            Bars bars = new Bars(measured(new CommandLineOptions(arguments)));
            if (System.getProperty(Crossing.PROGRAM) == null) {
                System.out.println("crossing: not measured, because the system property " + Crossing.PROGRAM
                        + " does not name the program that reads from Rust");
            }
            PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
            bars.lines.forEach(out::println);
            System.exit(bars.allMet() ? 0 : 1);
        } catch (CommandLineOptionException unknown) {
            System.err.println(unknown.getMessage());
            System.exit(2);
        } catch (RunnerException failed) {
            System.err.println(failed.getMessage());
            System.exit(1);
        }
    }

    private static Figures measured(CommandLineOptions options) throws Exception {
        Crossing.begin();
        Figures figures = new Figures();
        // Otherwise a benchmark that fails would only be missing from the results.
        Runner runner = new Runner(new OptionsBuilder().parent(options).shouldFailOnError(true).build());
        for (RunResult result : runner.run()) {
            BenchmarkParams parameters = result.getParams();
            // Other modes and units, which arguments can choose, are no nanoseconds of one record.
            boolean isTime = parameters.getMode() == Mode.AverageTime;
            if (isTime && result.getPrimaryResult().getScoreUnit().equals("ns/op")) {
                figures.add(
                        parameters.getParam("records"),
                        Engines.name(parameters),
                        parameters.getParam("engine"),
                        result.getPrimaryResult().getScore());
            }
        }
        Crossing.addTo(figures);
        return figures;
    }
}
