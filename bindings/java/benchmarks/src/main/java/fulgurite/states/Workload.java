package fulgurite.states;

import java.nio.file.Files;
import java.nio.file.Path;

/** What is measured with each engine, and what the figures are compared with. */
final class Workload {
    final String name;

    /** What one operation is. */
    final String about;

    final Opening opening;

    /** What the report on GeaFlow's LMDB store says. */
    String report = "";

    /** The bar; null if there is none. */
    Bar bar;

    Workload(String name, String about, Opening opening) {
        this.name = name;
        this.about = about;
        this.opening = opening;
    }

    Workload report(String figures) {
        report = figures;
        return this;
    }

    Workload bar(Bar limit) {
        bar = limit;
        return this;
    }

    /** Prepares the states of an engine. */
    interface Opening {
        Session open(States states, Path directory) throws Exception;
    }

    /** States that are ready to be measured. */
    abstract static class Session implements AutoCloseable {
        /** How many operations a round has. */
        final int operations;

        Session(int operations) {
            this.operations = operations;
        }

        /** Makes ready what a round needs, which is not measured. */
        void prepare() throws Exception {}

        /** Runs a round, and returns a number that depends on all that was read. It is the same for all engines. */
        abstract long run() throws Exception;

        @Override
        public abstract void close() throws Exception;
    }

    /** A session that begins each round with new states, for operations that make them larger. */
    static final class Renewed extends Session {
        private final Opening opening;
        private final States states;
        private final Path directory;

        /** Null before the first round. */
        private Session session;

        private Renewed(int operations, Opening opening, States states, Path directory) {
            super(operations);
            this.opening = opening;
            this.states = states;
            this.directory = directory.resolve("round");
        }

        /** Prepares such a session. */
        static Opening of(int operations, Opening opening) {
            return (states, directory) -> new Renewed(operations, opening, states, directory);
        }

        @Override
        void prepare() throws Exception {
            close();
            Files.createDirectories(directory);
            session = opening.open(states, directory);
            session.prepare();
        }

        @Override
        long run() throws Exception {
            return session.run();
        }

        @Override
        public void close() throws Exception {
            if (session != null) {
                session.close();
                session = null;
                Scratch.delete(directory);
            }
        }
    }

    /** A limit. */
    static final class Bar {
        /** What is limited: the processor time as a part of RocksDB's, or milliseconds of an operation. */
        enum Of {
            RATIO,
            MILLISECONDS
        }

        final Of of;
        final double most;

        private Bar(Of of, double most) {
            this.of = of;
            this.most = most;
        }

        static Bar ratio(double most) {
            return new Bar(Of.RATIO, most);
        }

        static Bar milliseconds(double most) {
            return new Bar(Of.MILLISECONDS, most);
        }
    }
}
