package org.fulgurite.rdf4j.migration;

import java.io.File;
import java.io.PrintStream;
import java.util.Locale;
import org.eclipse.rdf4j.common.exception.RDF4JException;
import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.SailLockedException;
import org.eclipse.rdf4j.sail.config.SailFactory;
import org.eclipse.rdf4j.sail.config.SailRegistry;
import org.fulgurite.rdf4j.FulguriteStore;

/** The program that copies the data directory of an {@code LmdbStore} or {@code NativeStore} into a Fulgurite store. */
public final class Migrate {
    private static final String HELP = String.join(
            System.lineSeparator(),
            "Copies the data of an LmdbStore or NativeStore of RDF4J into a Fulgurite store, and verifies the copy.",
            "",
            "Usage: java -cp JARS org.fulgurite.rdf4j.migration.Migrate SOURCE TARGET",
            "",
            "  SOURCE   the data directory of the LmdbStore or NativeStore; stop programs that use it",
            "  TARGET   the data directory of the new Fulgurite store, which must have no statements; it may be SOURCE",
            "",
            "The class path needs the jar of the source's store: rdf4j-sail-lmdb or rdf4j-sail-nativerdf.",
            "Exit codes: 0 copied and verified, 1 failed, 2 wrong arguments.",
            "");

    private static final String LMDB = "rdf4j:LmdbStore";
    private static final String NATIVE = "openrdf:NativeStore";
    private static final long PROGRESS_NANOS = 1_000_000_000L;

    private final PrintStream out;
    private final PrintStream errors;
    private long lastProgress = System.nanoTime();

    Migrate(PrintStream out, PrintStream errors) {
        this.out = out;
        this.errors = errors;
    }

    /**
     * Runs the program.
     *
     * @param arguments the source and the target
     */
    public static void main(String[] arguments) {
        System.exit(new Migrate(System.out, System.err).run(arguments));
    }

    /** Runs the program, and returns its exit code. */
    int run(String... arguments) {
        if (arguments.length == 1 && (arguments[0].equals("--help") || arguments[0].equals("-h"))) {
            out.print(HELP);
            return 0;
        }
        if (arguments.length != 2) {
            errors.print(HELP);
            return 2;
        }
        File source = new File(arguments[0]);
        String type = typeOf(source);
        if (type == null) {
            errors.println(source + " is not the data directory of an LmdbStore or NativeStore: it has neither"
                    + " triples/data.mdb nor values.dat");
            return 2;
        }
        SailFactory factory = SailRegistry.getInstance().get(type).orElse(null);
        if (factory == null) {
            errors.println(source + " is the directory of a store of type " + type + "; add "
                    + (type.equals(LMDB) ? "rdf4j-sail-lmdb" : "rdf4j-sail-nativerdf") + " to the class path");
            return 2;
        }
        try {
            copy(factory, source, new File(arguments[1]));
            return 0;
        } catch (RDF4JException error) {
            errors.println("the migration failed: " + error.getMessage());
            return 1;
        }
    }

    /** The type of the store in a directory; null if it is none. */
    private static String typeOf(File directory) {
        if (new File(directory, "triples/data.mdb").isFile()) {
            return LMDB;
        }
        return new File(directory, "values.dat").isFile() ? NATIVE : null;
    }

    private void copy(SailFactory factory, File source, File target) {
        // Without indexes in its configuration, the store keeps those that it has.
        Sail from = factory.getSail(factory.getConfig());
        from.setDataDir(source);
        try {
            from.init();
        } catch (SailLockedException locked) {
            String message = source + " is open in the process " + locked.getLockedBy();
            throw new SailException(message + "; end it, and run this again", locked);
        }
        try {
            FulguriteStore to = new TargetStore(target);
            to.init();
            try {
                Migration.Report report = new Migration(from).listener(this::show).run(to);
                out.println("copied and verified " + counted(report.explicitStatements(), "explicit statement") + ", "
                        + counted(report.inferredStatements(), "inferred statement") + " and "
                        + counted(report.namespaces(), "namespace"));
            } finally {
                to.shutDown();
            }
        } finally {
            from.shutDown();
        }
    }

    /** A number of things in the form of the command line: {@code 3,004 statements}. */
    private static String counted(long count, String name) {
        return String.format(Locale.ROOT, "%,d %s%s", count, name, count == 1 ? "" : "s");
    }

    /** A store that is created beside the files of the old one, if both have the same data directory. */
    private static final class TargetStore extends FulguriteStore {
        TargetStore(File directory) {
            super(directory);
        }

        @Override
        protected void checkDataDir(File directory, File file) {
            // The program copies the data that the check protects.
        }
    }

    private void show(Migration.Progress progress) {
        if (System.nanoTime() - lastProgress > PROGRESS_NANOS) {
            lastProgress = System.nanoTime();
            errors.println(progress.stage() + ": " + progress.statements() + " statements");
        }
    }
}
