package fulgurite.bench;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.rio.helpers.StatementCollector;
import org.eclipse.rdf4j.rio.ntriples.NTriplesParser;

/** A pattern that is asked for. */
final class Question {
    static final Question ALL = new Question(null, null, null);
    private final Resource subject;
    private final IRI predicate;
    private final Value object;

    private Question(Resource subject, IRI predicate, Value object) {
        this.subject = subject;
        this.predicate = predicate;
        this.object = object;
    }

    /** For each statement of a file a question for its subject, or for its predicate and object. */
    static List<Question> read(Path file, boolean byObject) throws Exception {
        StatementCollector collector = new StatementCollector();
        NTriplesParser parser = new NTriplesParser();
        parser.setRDFHandler(collector);
        try (InputStream stream = Files.newInputStream(file)) {
            parser.parse(stream, "");
        }
        List<Question> questions = new ArrayList<>();
        for (Statement statement : collector.getStatements()) {
            questions.add(byObject
                    ? new Question(null, statement.getPredicate(), statement.getObject())
                    : new Question(statement.getSubject(), null, null));
        }
        return questions;
    }

    /** Every byte of the answer counts. */
    Sum whole(SailRepositoryConnection connection) {
        Sum sum = new Sum();
        try (CloseableIteration<Statement> found = connection.getStatements(subject, predicate, object, false)) {
            while (found.hasNext()) {
                sum.rows++;
                sum.hash += Hash.ofStatement(found.next());
            }
        }
        return sum;
    }

    /** Every term of the answer is looked at, which costs next to nothing. */
    Sum light(SailRepositoryConnection connection) {
        Sum sum = new Sum();
        try (CloseableIteration<Statement> found = connection.getStatements(subject, predicate, object, false)) {
            while (found.hasNext()) {
                Statement statement = found.next();
                String object = statement.getObject().stringValue();
                long last = object.isEmpty() ? 0 : object.charAt(object.length() - 1);
                sum.rows++;
                sum.hash += statement.getSubject().stringValue().length()
                        + 3L * statement.getPredicate().stringValue().length() + 5L * object.length() + 7 * last;
            }
        }
        return sum;
    }
}
