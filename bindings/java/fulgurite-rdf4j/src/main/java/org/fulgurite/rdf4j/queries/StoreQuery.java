package org.fulgurite.rdf4j.queries;

import java.util.Optional;
import org.eclipse.rdf4j.model.vocabulary.FN;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.Query.QueryType;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.algebra.AggregateFunctionCall;
import org.eclipse.rdf4j.query.algebra.DescribeOperator;
import org.eclipse.rdf4j.query.algebra.FunctionCall;
import org.eclipse.rdf4j.query.algebra.QueryRoot;
import org.eclipse.rdf4j.query.algebra.Service;
import org.eclipse.rdf4j.query.algebra.helpers.AbstractQueryModelVisitor;
import org.eclipse.rdf4j.query.parser.ParsedBooleanQuery;
import org.eclipse.rdf4j.query.parser.ParsedGraphQuery;
import org.eclipse.rdf4j.query.parser.ParsedQuery;
import org.eclipse.rdf4j.query.parser.ParsedTupleQuery;
import org.eclipse.rdf4j.query.parser.QueryParserUtil;

/** A query with its text, which the store's own evaluation reads. RDF4J's evaluation reads it as any other query. */
public final class StoreQuery extends QueryRoot {
    private static final long serialVersionUID = 1L;

    private final String text;
    private final String base;

    private StoreQuery(ParsedQuery parsed, String text, String base) {
        super(parsed.getTupleExpr());
        this.text = text;
        this.base = base;
    }

    /** Parses a query. Returns nothing if it is of another type, or RDF4J has to evaluate it. */
    public static Optional<StoreQuery> parse(QueryLanguage language, QueryType type, String text, String base) {
        if (!QueryLanguage.SPARQL.equals(language)) {
            return Optional.empty();
        }
        ParsedQuery parsed = QueryParserUtil.parseQuery(language, text, base);
        Check check = new Check();
        parsed.getTupleExpr().visit(check);
        // Wrappers such as DatasetRepository look for the dataset of the text in RDF4J's own query.
        return typeOf(parsed) == type && check.isForStore && parsed.getDataset() == null
                ? Optional.of(new StoreQuery(parsed, text, base))
                : Optional.empty();
    }

    private static QueryType typeOf(ParsedQuery parsed) {
        if (parsed instanceof ParsedTupleQuery) {
            return QueryType.TUPLE;
        }
        if (parsed instanceof ParsedGraphQuery) {
            return QueryType.GRAPH;
        }
        return parsed instanceof ParsedBooleanQuery ? QueryType.BOOLEAN : null;
    }

    public String text() {
        return text;
    }

    public String base() {
        return base;
    }

    @Override
    public StoreQuery clone() {
        return (StoreQuery) super.clone();
    }

    /** Looks for what the store does not evaluate as RDF4J does. */
    private static final class Check extends AbstractQueryModelVisitor<RuntimeException> {
        boolean isForStore = true;

        @Override
        public void meet(Service node) {
            isForStore = false;
        }

        @Override
        public void meet(DescribeOperator node) {
            isForStore = false;
        }

        @Override
        public void meet(AggregateFunctionCall node) {
            isForStore = false;
        }

        @Override
        public void meet(FunctionCall node) {
            String name = node.getURI();
            isForStore &= name.indexOf(':') < 0 || name.startsWith(FN.NAMESPACE) || name.startsWith(XSD.NAMESPACE);
            super.meet(node);
        }
    }
}
