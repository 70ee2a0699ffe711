package org.fulgurite.rdf4j.migration;

import java.util.Objects;
import java.util.function.Consumer;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.Namespace;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.SailConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.inferencer.InferencerConnection;
import org.fulgurite.rdf4j.FulguriteStore;

/**
 * Copies all statements and namespaces of a Sail into an empty {@link FulguriteStore}, reads the statements back, and
 * compares their number and the sum of their hashes. Inferred statements stay inferred. The source is only read.
 *
 * <pre>{@code
 * Migration.Report report = new Migration(source).run(target);
 * }</pre>
 */
public final class Migration {
    private static final int STATEMENTS_OF_A_TRANSACTION = 100_000;
    private static final int STATEMENTS_OF_A_REPORT = 1 << 14;

    private final Sail source;
    private Consumer<Progress> listener = progress -> {};

    /** How far a migration is. */
    public static final class Progress {
        private final String stage;
        private final long statements;

        Progress(String stage, long statements) {
            this.stage = stage;
            this.statements = statements;
        }

        /**
         * Returns what is done: {@code "copying"} or {@code "verifying"}.
         *
         * @return the stage
         */
        public String stage() {
            return stage;
        }

        /**
         * Returns how many statements the stage has processed.
         *
         * @return the number of statements
         */
        public long statements() {
            return statements;
        }
    }

    /** What a migration has copied. */
    public static final class Report {
        private final long explicit;
        private final long inferred;
        private final long namespaces;

        Report(long explicit, long inferred, long namespaces) {
            this.explicit = explicit;
            this.inferred = inferred;
            this.namespaces = namespaces;
        }

        /**
         * Returns the number of explicit statements.
         *
         * @return the number of explicit statements
         */
        public long explicitStatements() {
            return explicit;
        }

        /**
         * Returns the number of inferred statements.
         *
         * @return the number of inferred statements
         */
        public long inferredStatements() {
            return inferred;
        }

        /**
         * Returns the number of namespaces.
         *
         * @return the number of namespaces
         */
        public long namespaces() {
            return namespaces;
        }
    }

    /**
     * Creates a migration.
     *
     * @param source the Sail to copy, initialized
     */
    public Migration(Sail source) {
        this.source = Objects.requireNonNull(source, "source");
    }

    /**
     * Sets a listener, which the thread that runs the migration calls after every few thousand statements.
     *
     * @param newListener the listener
     * @return this migration
     */
    public Migration listener(Consumer<Progress> newListener) {
        listener = Objects.requireNonNull(newListener, "listener");
        return this;
    }

    /**
     * Copies and verifies, on the calling thread.
     *
     * @param target the store to fill, initialized and empty
     * @return what was copied
     * @throws SailException if the target is not empty, a store fails, or the copy differs; the target is incomplete
     *     then
     */
    public Report run(FulguriteStore target) {
        try (SailConnection from = source.getConnection(); SailConnection to = target.getConnection()) {
            requireEmpty(to);
            StatementSum copied = new StatementSum();
            long explicit = copyExplicit(from, to, copied);
            long inferred = copyInferred(from, (InferencerConnection) to, copied);
            long namespaces = copyNamespaces(from, to);
            verify(to, copied);
            return new Report(explicit, inferred, namespaces);
        }
    }

    private static void requireEmpty(SailConnection target) {
        if (target.hasStatement(null, null, null, true)) {
            throw new SailException("the target has statements already; choose a new directory");
        }
    }

    private long copyExplicit(SailConnection from, SailConnection to, StatementSum copied) {
        to.begin(IsolationLevels.NONE);
        try (CloseableIteration<? extends Statement> statements = from.getStatements(null, null, null, false)) {
            while (statements.hasNext()) {
                Statement statement = statements.next();
                to.addStatement(
                        statement.getSubject(), statement.getPredicate(), statement.getObject(), statement.getContext());
                copied.add(statement, false);
                goOn(to, copied);
            }
        }
        to.commit();
        return copied.count();
    }

    /** Copies the statements that are only inferred. */
    private long copyInferred(SailConnection from, InferencerConnection to, StatementSum copied) {
        long explicit = copied.count();
        to.begin(IsolationLevels.NONE);
        try (CloseableIteration<? extends Statement> statements = from.getStatements(null, null, null, true)) {
            while (statements.hasNext()) {
                Statement statement = statements.next();
                // It returns false for explicit statements.
                if (to.addInferredStatement(
                        statement.getSubject(),
                        statement.getPredicate(),
                        statement.getObject(),
                        statement.getContext())) {
                    copied.add(statement, true);
                    goOn(to, copied);
                }
            }
        }
        to.commit();
        return copied.count() - explicit;
    }

    /** Reports a copied statement. After many statements, commits them and begins another transaction. */
    private void goOn(SailConnection to, StatementSum copied) {
        report("copying", copied);
        if (copied.count() % STATEMENTS_OF_A_TRANSACTION == 0) {
            to.commit();
            to.begin(IsolationLevels.NONE);
        }
    }

    private static long copyNamespaces(SailConnection from, SailConnection to) {
        long count = 0;
        to.begin(IsolationLevels.NONE);
        try (CloseableIteration<? extends Namespace> namespaces = from.getNamespaces()) {
            while (namespaces.hasNext()) {
                Namespace namespace = namespaces.next();
                to.setNamespace(namespace.getPrefix(), namespace.getName());
                count++;
            }
        }
        to.commit();
        return count;
    }

    private void verify(SailConnection target, StatementSum copied) {
        StatementSum found = new StatementSum();
        try (CloseableIteration<? extends Statement> statements = target.getStatements(null, null, null, false)) {
            while (statements.hasNext()) {
                found.add(statements.next(), false);
                report("verifying", found);
            }
        }
        if (copied.count() > found.count()) {
            addInferred(target, found);
        }
        if (!found.isSameAs(copied)) {
            throw new SailException("the copy differs from the source: it has " + found.count() + " statements instead of "
                    + copied.count() + "; was the source changed meanwhile, or does it have literals that differ only in"
                    + " the case of their language tags?");
        }
    }

    private void addInferred(SailConnection target, StatementSum found) {
        try (CloseableIteration<? extends Statement> statements = target.getStatements(null, null, null, true)) {
            while (statements.hasNext()) {
                Statement statement = statements.next();
                if (!target.hasStatement(
                        statement.getSubject(),
                        statement.getPredicate(),
                        statement.getObject(),
                        false,
                        statement.getContext())) {
                    found.add(statement, true);
                    report("verifying", found);
                }
            }
        }
    }

    private void report(String stage, StatementSum sum) {
        if (sum.count() % STATEMENTS_OF_A_REPORT == 0) {
            listener.accept(new Progress(stage, sum.count()));
        }
    }
}
