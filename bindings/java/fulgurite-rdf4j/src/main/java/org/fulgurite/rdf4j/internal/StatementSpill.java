package org.fulgurite.rdf4j.internal;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.rdf4j.values.TermBytes;
import org.fulgurite.rdf4j.values.TermReader;

/** Statements in the order in which they were added. Few are kept in memory, and many in a temporary file. */
public final class StatementSpill implements AutoCloseable {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();

    /** A block with as many bytes is written to the file. */
    private static final int BLOCK_BYTES = 1 << 20;

    /** The bytes of each block of the file. */
    private final List<Integer> blocks = new ArrayList<>();

    /** The statements after those of the file. */
    private final TermBytes last = new TermBytes();

    private File path;

    /** Unlike a channel, it is not closed if the thread is interrupted. Null before the first block is full. */
    private RandomAccessFile file;

    /**
     * Adds a statement.
     *
     * @param statement the statement
     * @throws SailException if the temporary file cannot be written
     */
    public void add(Statement statement) {
        last.term(statement.getSubject()).term(statement.getPredicate()).term(statement.getObject());
        Resource context = statement.getContext();
        if (context == null) {
            last.flag(false);
        } else {
            last.term(context);
        }
        if (last.length() >= BLOCK_BYTES) {
            writeBlock();
        }
    }

    private void writeBlock() {
        try {
            if (file == null) {
                path = Files.createTempFile("fulgurite", ".statements").toFile();
                file = new RandomAccessFile(path, "rw");
            }
            file.write(last.array(), 0, last.length());
        } catch (IOException error) {
            throw new SailException("the statements for listeners cannot be written to a temporary file", error);
        }
        blocks.add(last.length());
        last.clear();
    }

    /**
     * Calls {@code use} with each statement. It must not add any.
     *
     * @param use the user of the statements
     * @throws SailException if the temporary file cannot be read
     */
    public void forEach(Consumer<Statement> use) {
        long position = 0;
        for (int length : blocks) {
            forEach(use, readBlock(position, length));
            position += length;
        }
        forEach(use, Arrays.copyOf(last.array(), last.length()));
    }

    private byte[] readBlock(long position, int length) {
        byte[] block = new byte[length];
        try {
            file.seek(position);
            file.readFully(block);
        } catch (IOException error) {
            throw new SailException("the temporary file " + path + " cannot be read", error);
        }
        return block;
    }

    private static void forEach(Consumer<Statement> use, byte[] block) {
        TermReader terms = new TermReader(block);
        while (terms.hasMore()) {
            Resource subject = (Resource) terms.term();
            IRI predicate = (IRI) terms.term();
            Value object = terms.term();
            Resource context = (Resource) terms.optionalTerm();
            use.accept(
                    context == null
                            ? VALUES.createStatement(subject, predicate, object)
                            : VALUES.createStatement(subject, predicate, object, context));
        }
    }

    /** Removes the temporary file, if there is one. */
    @Override
    public void close() {
        try {
            if (file != null) {
                file.close();
            }
        } catch (IOException error) {
            throw new SailException("the temporary file " + path + " cannot be closed", error);
        } finally {
            if (path != null) {
                path.delete();
            }
        }
    }
}
