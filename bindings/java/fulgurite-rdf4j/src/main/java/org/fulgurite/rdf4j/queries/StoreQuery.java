package org.fulgurite.rdf4j.queries;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.rdf4j.model.IRI;
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

    /** Parses a query of SPARQL. Returns nothing if it is of another type, or RDF4J has to evaluate it. */
    static Optional<StoreQuery> parse(QueryType type, String text, String base) {
        ParsedQuery parsed = QueryParserUtil.parseQuery(QueryLanguage.SPARQL, text, base);
        Check check = new Check(text);
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
        /** The functions with IRIs that the store has: casts. */
        private static final Set<String> CASTS = Stream.of(
                        XSD.STRING,
                        XSD.BOOLEAN,
                        XSD.INTEGER,
                        XSD.DECIMAL,
                        XSD.FLOAT,
                        XSD.DOUBLE,
                        XSD.DATE,
                        XSD.TIME,
                        XSD.DATETIME,
                        XSD.DURATION,
                        XSD.YEARMONTHDURATION,
                        XSD.DAYTIMEDURATION,
                        XSD.GYEAR,
                        XSD.GYEARMONTH,
                        XSD.GMONTH,
                        XSD.GMONTHDAY,
                        XSD.GDAY)
                .map(IRI::stringValue)
                .collect(Collectors.toSet());

        /** The end of the namespace of XPath's functions. */
        private static final String XPATH_FUNCTIONS = "xpath-functions";

        /** Whether the text may call functions of XPath by their IRIs. */
        private final boolean namesXPathFunctions;

        boolean isForStore = true;

        Check(String text) {
            namesXPathFunctions = text.contains(XPATH_FUNCTIONS);
        }

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
            isForStore &= isOfStore(node.getURI());
            super.meet(node);
        }

        private boolean isOfStore(String name) {
            if (name.startsWith(FN.NAMESPACE)) {
                // RDF4J's parser gives the functions of SPARQL, such as UCASE, the names of those of XPath.
                return !namesXPathFunctions;
            }
            return name.indexOf(':') < 0 || CASTS.contains(name);
        }
    }
}
