package fulgurite.bench;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.helpers.AbstractRDFHandler;
import org.eclipse.rdf4j.rio.ntriples.NTriplesParser;

/**
 * Does one measurement with a store of RDF4J, and prints what it found. The protocol is that of
 * benchmarks/bench/src/suites/quads/task.rs and answer.rs: arguments MEASURE RUN-DIRECTORY STORE-DIRECTORY STATEMENTS
 * THREADS MILLISECONDS BATCH; lines
 * "sample NAME OPERATIONS CPU-NS WALL-NS P50-NS P99-NS", "amount NAME VALUE" and "answer NAME ROWS HASH".
 */
public final class Quads {
    private final Path run;
    private final File store;
    private final long statements;
    private final int threads;
    private final long leastNanos;
    private final int batch;

    private Quads(String[] arguments) {
        run = Path.of(arguments[1]);
        store = new File(arguments[2]);
        statements = Long.parseLong(arguments[3]);
        threads = Integer.parseInt(arguments[4]);
        leastNanos = Long.parseLong(arguments[5]) * 1_000_000;
        batch = Integer.parseInt(arguments[6]);
    }

    /** The entrance. */
    public static void main(String[] arguments) throws Exception {
        Quads quads = new Quads(arguments);
        switch (arguments[0]) {
            case "bulk_load":
            case "transactional_load":
                quads.load(arguments[0]);
                break;
            case "verify":
                quads.verify();
                break;
            case "scan_terms":
                quads.questions(arguments[0], List.of(Question.ALL));
                break;
            case "by_subject":
                quads.questions(arguments[0], Question.read(quads.run.resolve("subjects.nt"), false));
                break;
            case "by_predicate_object":
                quads.questions(arguments[0], Question.read(quads.run.resolve("objects.nt"), true));
                break;
            case "threads":
                quads.sideBySide();
                break;
            case "open":
                quads.open();
                break;
            case "sparql":
                quads.sparql();
                break;
            default:
                throw new IllegalArgumentException("there is no measurement " + arguments[0]);
        }
    }

    private void load(String name) throws Exception {
        boolean whole = name.equals("bulk_load");
        File scratch = new File(store.getPath() + "-warm");
        loadInto(scratch, run.resolve("warm.nt").toFile(), whole);
        try (var inside = Files.walk(scratch.toPath())) {
            // What is deepest comes last, and has to go first.
            inside.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
        MemoryWatch watch = MemoryWatch.begin();
        Watch span = new Watch();
        loadInto(store, run.resolve("data.nt").toFile(), whole);
        span.print(name, statements, null);
        System.out.println("amount " + name + "_memory " + watch.finish());
    }

    private void loadInto(File directory, File input, boolean whole) throws Exception {
        try (OpenStore opened = new OpenStore(directory)) {
            if (whole && opened.bulkLoad(input)) {
                return;
            }
            try (SailRepositoryConnection connection = opened.repository.getConnection()) {
                connection.begin(IsolationLevels.NONE);
                if (whole) {
                    connection.add(input, "", RDFFormat.NTRIPLES);
                } else {
                    addInBatches(connection, input);
                }
                connection.commit();
            }
        }
    }

    private void addInBatches(SailRepositoryConnection connection, File input) throws Exception {
        NTriplesParser parser = new NTriplesParser();
        parser.setRDFHandler(new AbstractRDFHandler() {
            private int added;

            @Override
            public void handleStatement(Statement statement) {
                if (added == batch) {
                    connection.commit();
                    connection.begin(IsolationLevels.NONE);
                    added = 0;
                }
                connection.add(statement);
                added++;
            }
        });
        try (var stream = new java.io.BufferedInputStream(Files.newInputStream(input.toPath()), 1 << 20)) {
            parser.parse(stream, "");
        }
    }

    private void verify() throws Exception {
        try (OpenStore opened = new OpenStore(store); SailRepositoryConnection connection = opened.repository.getConnection()) {
            Question.ALL.whole(connection).print("verify");
        }
    }

    private void questions(String name, List<Question> questions) throws Exception {
        try (OpenStore opened = new OpenStore(store); SailRepositoryConnection connection = opened.repository.getConnection()) {
            Sum whole = new Sum();
            for (Question question : questions) {
                whole.add(question.whole(connection));
            }
            whole.print(name);
            Sum expected = pass(connection, questions, null);
            for (Watch warm = new Watch(); warm.cpuNanos() < WARM_TIMES * leastNanos; ) {
                expected.same(pass(connection, questions, null), name);
            }
            Latencies latencies = new Latencies();
            long operations = 0;
            Watch span = new Watch();
            do {
                Sum sum = pass(connection, questions, latencies);
                operations += sum.rows;
                expected.same(sum, name);
            } while (span.cpuNanos() < leastNanos);
            span.print(name, operations, latencies);
        }
    }

    private static Sum pass(SailRepositoryConnection connection, List<Question> questions, Latencies latencies) {
        Sum sum = new Sum();
        for (Question question : questions) {
            long started = latencies == null ? 0 : System.nanoTime();
            sum.add(question.light(connection));
            if (latencies != null) {
                latencies.add(System.nanoTime() - started);
            }
        }
        return sum;
    }

    private void sideBySide() throws Exception {
        List<Question> questions = Question.read(run.resolve("subjects.nt"), false);
        try (OpenStore opened = new OpenStore(store)) {
            Sum expected = new Sum();
            try (SailRepositoryConnection connection = opened.repository.getConnection()) {
                for (Question question : questions) {
                    expected.add(question.whole(connection));
                }
            }
            expected.print("threads");
            for (int pass = 0; pass < WARM_TIMES; pass++) {
                askSideBySide(opened, questions);
            }
            Watch span = new Watch();
            long rows = askSideBySide(opened, questions);
            span.print("threads", rows, null);
        }
    }

    /** Every thread asks for as long as a measurement lasts; returns the rows of all. */
    private long askSideBySide(OpenStore opened, List<Question> questions) throws Exception {
        long[] rows = new long[threads];
        List<Thread> all = new ArrayList<>();
        long end = System.nanoTime() + leastNanos;
        for (int number = 0; number < threads; number++) {
            int own = number;
            Thread thread = new Thread(() -> {
                try (SailRepositoryConnection connection = opened.repository.getConnection()) {
                    int next = own * questions.size() / threads;
                    do {
                        rows[own] += questions.get(next % questions.size()).light(connection).rows;
                        next++;
                    } while (System.nanoTime() < end);
                }
            });
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) {
            thread.join();
        }
        return Arrays.stream(rows).sum();
    }

    private void open() throws Exception {
        List<Question> questions = Question.read(run.resolve("subjects.nt"), false);
        Latencies latencies = new Latencies();
        Watch span = new Watch();
        Sum sum = new Sum();
        for (int opening = 0; opening < OPENINGS; opening++) {
            long started = System.nanoTime();
            OpenStore opened = new OpenStore(store);
            try (SailRepositoryConnection connection = opened.repository.getConnection()) {
                sum.add(questions.get(opening % questions.size()).whole(connection));
            }
            latencies.add(System.nanoTime() - started);
            opened.close();
        }
        span.print("open", OPENINGS, latencies);
        System.out.println("amount open " + latencies.percentile(0.5));
        sum.print("open");
    }

    private void sparql() throws Exception {
        try (OpenStore opened = new OpenStore(store); SailRepositoryConnection connection = opened.repository.getConnection()) {
            for (String line : Files.readAllLines(run.resolve("queries.txt"))) {
                String[] parts = line.split("\t", 2);
                query(connection, parts[0], parts[1]);
            }
        }
    }

    private void query(SailRepositoryConnection connection, String name, String text) {
        List<Long> hashes = new ArrayList<>();
        try (TupleQueryResult result = connection.prepareTupleQuery(text).evaluate()) {
            List<String> names = result.getBindingNames();
            while (result.hasNext()) {
                hashes.add(Hash.ofRow(names, result.next()));
            }
        }
        System.out.println("answer " + name + " " + hashes.size() + " " + Long.toUnsignedString(Hash.ofSorted(hashes)));
        warm(connection, name, text, hashes.size());
        Latencies latencies = new Latencies();
        long evaluations = 0;
        Watch span = new Watch();
        do {
            long started = System.nanoTime();
            expect(evaluate(connection, text), hashes.size(), name);
            latencies.add(System.nanoTime() - started);
            evaluations++;
        } while (span.cpuNanos() < leastNanos);
        span.print(name, evaluations, latencies);
    }

    /** Evaluates a query until the compiler and the collector are nearly idle. */
    private static void warm(SailRepositoryConnection connection, String name, String text, int rows) {
        Watch whole = new Watch();
        boolean isResting = false;
        while (whole.wallNanos() < QUERY_WARM_NANOS || !isResting && whole.wallNanos() < QUERY_WARM_NANOS_MAX) {
            Watch part = new Watch();
            do {
                expect(evaluate(connection, text), rows, name);
            } while (part.wallNanos() < WARM_PART_NANOS);
            isResting = part.nanosOfOthers() < part.wallNanos() / 10;
        }
    }

    private static long evaluate(SailRepositoryConnection connection, String text) {
        long rows = 0;
        long length = 0;
        try (TupleQueryResult result = connection.prepareTupleQuery(text).evaluate()) {
            while (result.hasNext()) {
                BindingSet row = result.next();
                for (var binding : row) {
                    length += binding.getValue().stringValue().length();
                }
                rows++;
            }
        }
        sink = length;
        return rows;
    }

    private static void expect(long rows, long expected, String name) {
        if (rows != expected) {
            throw new IllegalStateException(name + ": " + rows + " rows after " + expected);
        }
    }

    /** Keeps what is computed for nothing else. */
    static volatile long sink;
    private static final int OPENINGS = 20;

    /** How many times longer than a timed pass the warming up is: compilation goes on beside it, and takes most of it at first. */
    private static final int WARM_TIMES = 5;

    /** How long each query is warmed up at least: most are fully compiled after a second. */
    private static final long QUERY_WARM_NANOS = 2_000_000_000L;

    /** How long each query is warmed up at most: with some queries, the collector is never idle. */
    private static final long QUERY_WARM_NANOS_MAX = 10_000_000_000L;

    /** How long the query is evaluated before each check whether the compiler and the collector are idle. */
    private static final long WARM_PART_NANOS = 500_000_000L;
}
