package org.fulgurite.rdf4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.iteration.CloseableIteratorIteration;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.common.transaction.IsolationLevel;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.common.transaction.QueryEvaluationMode;
import org.eclipse.rdf4j.common.transaction.TransactionSetting;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Namespace;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleNamespace;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.Dataset;
import org.eclipse.rdf4j.query.Query;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.explanation.Explanation;
import org.eclipse.rdf4j.sail.InterruptedSailException;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.UpdateContext;
import org.eclipse.rdf4j.sail.helpers.AbstractNotifyingSailConnection;
import org.eclipse.rdf4j.sail.helpers.DefaultSailChangedEvent;
import org.eclipse.rdf4j.sail.inferencer.InferencerConnection;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.InterruptibleIteration;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.internal.StatementSpill;
import org.fulgurite.rdf4j.queries.StoreQuery;
import org.fulgurite.rdf4j.queries.UpdateChanges;
import org.fulgurite.rdf4j.values.StoredTriple;
import org.fulgurite.rdf4j.values.TermReader;

/**
 * A connection to a store.
 *
 * <p>Outside of a transaction, each read has a snapshot of the newest state. In a transaction, reads see its changes. The
 * native transaction begins with RDF4J's at {@code SNAPSHOT} and {@code SERIALIZABLE}, and with the first change at the
 * other levels; until then, reads have snapshots there too. Before a change, results that are still open are read into
 * memory ({@link ResultIteration}), so each result is of one state.
 */
final class FulguriteStoreConnection extends AbstractNotifyingSailConnection implements InferencerConnection {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();

    /** The default graph. It is read only. */
    private static final Resource[] DEFAULT_CONTEXT = {null};

    private final FulguriteStore store;
    private final QueryEvaluation evaluation;

    /** Results that read the transaction. */
    private final Set<ResultIteration<?>> open = ConcurrentHashMap.newKeySet();

    /** The changes of running SPARQL updates, which are made when their operation ends. */
    private final Map<UpdateContext, UpdateChanges> updates = new HashMap<>();

    private final PendingQuads pending = new PendingQuads();
    private final Object lock = new Object();

    /** The native transaction, if it has begun. */
    private StoreView transaction;

    private DefaultSailChangedEvent changed;

    /** Whether an operation of an update was refused in the transaction, because the store is read-only. */
    private boolean hasRefusedUpdate;

    /** The mode of the transaction's queries; null for that of the store. */
    private volatile QueryEvaluationMode evaluationMode;

    FulguriteStoreConnection(FulguriteStore store) {
        super(store);
        this.store = store;
        this.evaluation = new QueryEvaluation(store);
    }

    // Reads

    /** A read of one view. */
    private interface Read<T> {
        CloseableIteration<? extends T> from(StoreView view);
    }

    private <T> CloseableIteration<T> read(boolean isOfQuery, Read<T> read) {
        synchronized (lock) {
            if (readsTransaction()) {
                flushPending();
                ResultIteration<T> result = result(isOfQuery, read, transaction.forRead());
                open.add(result);
                return result;
            }
        }
        return result(isOfQuery, read, SailErrors.convert(store::snapshot));
    }

    private <T> ResultIteration<T> result(boolean isOfQuery, Read<T> read, StoreView view) {
        try {
            CloseableIteration<? extends T> source = read.from(view);
            AtomicReference<ResultIteration<T>> result = new AtomicReference<>();
            result.set(new ResultIteration<>(source, view, isOfQuery, () -> open.remove(result.get())));
            return result.get();
        } catch (RuntimeException error) {
            view.close();
            throw error;
        }
    }

    @Override
    protected <T, E extends Exception> CloseableIteration<T> registerIteration(CloseableIteration<T> iteration) {
        return new InterruptibleIteration<>(super.registerIteration(iteration), whenInterrupted(iteration));
    }

    private static Function<String, ? extends RuntimeException> whenInterrupted(CloseableIteration<?> iteration) {
        if (iteration instanceof ResultIteration) {
            return ((ResultIteration<?>) iteration).whenInterrupted();
        }
        // RDF4J may have wrapped the rows of a query. It does not wrap others before.
        boolean isRead = iteration instanceof SnapshotStatements || iteration instanceof CloseableIteratorIteration;
        return isRead ? InterruptedSailException::new : QueryInterruptedException::new;
    }

    /** Computes a result that does not remain open. */
    private <T> T compute(Function<StoreView, T> compute) {
        synchronized (lock) {
            if (readsTransaction()) {
                flushPending();
                return SailErrors.convert(() -> compute.apply(transaction));
            }
        }
        return SailErrors.convert(() -> {
            try (StoreView view = store.snapshot()) {
                return compute.apply(view);
            }
        });
    }

    /** Whether there is a native transaction, or changes for one. */
    private boolean hasTransaction() {
        synchronized (lock) {
            return transaction != null || !pending.isEmpty();
        }
    }

    /** Whether a read sees the native transaction. */
    private boolean readsTransaction() {
        if (transaction == null) {
            if (pending.isEmpty()) {
                return false;
            }
            beginNative();
        }
        // A state that open results read is not replaced.
        if (open.isEmpty()) {
            transaction = SailErrors.convert(transaction::refreshed);
        }
        return true;
    }

    @Override
    protected CloseableIteration<? extends Statement> getStatementsInternal(
            Resource subject, IRI predicate, Value object, boolean includeInferred, Resource... contexts) {
        return getStatementsInternal(null, subject, predicate, object, includeInferred, contexts);
    }

    @Override
    protected CloseableIteration<? extends Statement> getStatementsInternal(
            StatementOrder order,
            Resource subject,
            IRI predicate,
            Value object,
            boolean includeInferred,
            Resource... contexts) {
        int kinds = kinds(includeInferred);
        if (order == null && contexts.length <= 1 && !hasTransaction()) {
            return SnapshotStatements.find(store, subject, predicate, object, kinds, contexts);
        }
        return read(false, view -> SailErrors.convert(() -> statements(
                new QuadPattern(view, subject, predicate, object, kinds, contexts), order)));
    }

    private static StatementIteration statements(QuadPattern pattern, StatementOrder order) {
        return new StatementIteration(pattern, order, InterruptedSailException::new);
    }

    private static int kinds(boolean includeInferred) {
        return includeInferred ? QuadPattern.ALL : QuadPattern.EXPLICIT;
    }

    @Override
    protected boolean hasStatementInternal(
            Resource subject, IRI predicate, Value object, boolean includeInferred, Resource[] contexts) {
        int kinds = kinds(includeInferred);
        if (contexts.length <= 1 && !hasTransaction()) {
            return SnapshotStatements.has(store, subject, predicate, object, kinds, contexts);
        }
        return compute(view -> {
            QuadPattern pattern = new QuadPattern(view, subject, predicate, object, kinds, contexts);
            try (StatementIteration statements = statements(pattern, null)) {
                return statements.hasNext();
            }
        });
    }

    @Override
    protected long sizeInternal(Resource... contexts) {
        return compute(view -> new QuadPattern(view, null, null, null, QuadPattern.EXPLICIT, contexts).count());
    }

    @Override
    protected CloseableIteration<? extends Resource> getContextIDsInternal() {
        return compute(view -> {
            List<Resource> contexts = new ArrayList<>();
            long[] graphs = view.graphs();
            TermReader terms = view.terms(graphs, graphs.length);
            while (terms.hasMore()) {
                contexts.add((Resource) terms.term());
            }
            return new CloseableIteratorIteration<>(contexts.iterator());
        });
    }

    @Override
    public Optional<TupleExpr> prepareQuery(
            QueryLanguage language, Query.QueryType type, String query, String base) {
        return store.usesOwnQueryEngine()
                ? store.parsedQueries().parse(language, type, query, base).map(Function.identity())
                : Optional.empty();
    }

    @Override
    protected CloseableIteration<? extends BindingSet> evaluateInternal(
            TupleExpr query, Dataset dataset, BindingSet bindings, boolean includeInferred) {
        int kinds = kinds(includeInferred);
        if (query instanceof StoreQuery) {
            StoreQuery whole = (StoreQuery) query;
            CloseableIteration<? extends BindingSet> results = evaluateByStore(whole, dataset, bindings, kinds);
            return results == null ? evaluateByRdf4j(whole.getArg(), dataset, bindings, kinds) : results;
        }
        return evaluateByRdf4j(query, dataset, bindings, kinds);
    }

    /** Returns null if RDF4J has to evaluate the query. */
    private CloseableIteration<? extends BindingSet> evaluateByStore(
            StoreQuery query, Dataset dataset, BindingSet bindings, int kinds) {
        if (hasTransaction() || !query.getBindingNames().containsAll(bindings.getBindingNames())) {
            return null;
        }
        return SailErrors.convert(() -> {
            // The query keeps the state that it reads.
            try (StoreView view = store.snapshot()) {
                return StoreResults.of(store, view, query, dataset, bindings, kinds);
            }
        });
    }

    private CloseableIteration<? extends BindingSet> evaluateByRdf4j(
            TupleExpr query, Dataset dataset, BindingSet bindings, int kinds) {
        QueryEvaluationMode mode = evaluationMode;
        return read(true, view -> evaluation.evaluate(view, query, dataset, bindings, kinds, mode));
    }

    @Override
    public Explanation explain(
            Explanation.Level level,
            TupleExpr query,
            Dataset dataset,
            BindingSet bindings,
            boolean includeInferred,
            int timeoutSeconds) {
        int kinds = kinds(includeInferred);
        TupleExpr explained = query instanceof StoreQuery ? ((StoreQuery) query).getArg() : query;
        return compute(view -> evaluation.explain(level, view, explained, dataset, bindings, kinds, timeoutSeconds));
    }

    // Transactions

    @Override
    public void setTransactionSettings(TransactionSetting... settings) {
        super.setTransactionSettings(settings);
        for (TransactionSetting setting : settings) {
            if (setting instanceof QueryEvaluationMode) {
                evaluationMode = (QueryEvaluationMode) setting;
            }
        }
    }

    @Override
    protected void startTransactionInternal() {
        synchronized (lock) {
            changed = new DefaultSailChangedEvent(store);
            IsolationLevel level = getTransactionIsolation();
            // All reads of a read-only store have the same state.
            if (level.isCompatibleWith(IsolationLevels.SNAPSHOT) && !store.isReadOnly()) {
                beginNative();
            }
        }
    }

    private void beginNative() {
        IsolationLevels level = (IsolationLevels) getTransactionIsolation();
        transaction = SailErrors.convert(() -> store.transaction(level));
    }

    /** Makes the pending insertions. */
    private long flushPending() {
        if (pending.isEmpty()) {
            return 0;
        }
        return insertPending(false);
    }

    private long insertPending(boolean inferred) {
        prepareChange();
        return SailErrors.convert(() -> pending.insert(transaction, inferred));
    }

    /** Begins the native transaction, and detaches what reads it. */
    private void prepareChange() {
        store.requireWritable();
        if (transaction == null) {
            beginNative();
        }
        detachOpen();
    }

    private void detachOpen() {
        for (ResultIteration<?> iteration : open) {
            iteration.detach();
            open.remove(iteration);
        }
    }

    @Override
    protected void prepareInternal() {
        synchronized (lock) {
            requireNoRefusedUpdate();
            flushPending();
            if (transaction != null) {
                SailErrors.run(() -> NativeQuads.prepare(transaction.raw()));
            }
        }
    }

    @Override
    public void flushUpdates() {
        synchronized (lock) {
            flushPending();
        }
    }

    @Override
    protected void commitInternal() {
        DefaultSailChangedEvent event;
        synchronized (lock) {
            requireNoRefusedUpdate();
            event = changed;
            try {
                flushPending();
                if (transaction != null) {
                    detachOpen();
                    SailErrors.run(() -> NativeQuads.commit(transaction.raw()));
                    store.forgetSnapshot();
                }
            } finally {
                end();
            }
        }
        if (event != null && (event.statementsAdded() || event.statementsRemoved())) {
            store.notifySailChanged(event);
        }
    }

    @Override
    protected void rollbackInternal() {
        synchronized (lock) {
            end();
        }
    }

    private void end() {
        pending.clear();
        updates.clear();
        changed = null;
        hasRefusedUpdate = false;
        evaluationMode = null;
        if (transaction != null) {
            transaction.close();
            transaction = null;
        }
    }

    @Override
    protected void closeInternal() {
        synchronized (lock) {
            end();
        }
    }

    // Changes

    @Override
    protected void addStatementInternal(Resource subject, IRI predicate, Value object, Resource... contexts) {
        if (hasConnectionListeners()) {
            addAndNotify(subject, predicate, object, contexts);
        } else {
            add(subject, predicate, object, contexts);
        }
    }

    @Override
    public boolean addInferredStatement(Resource subject, IRI predicate, Value object, Resource... contexts) {
        verifyIsOpen();
        verifyIsActive();
        requireTerms(subject, predicate, object);
        boolean isNew = false;
        synchronized (lock) {
            for (Resource context : orDefault(contexts)) {
                // What is explicit or inferred already is not inferred again.
                if (!hasStatementInternal(subject, predicate, object, true, new Resource[] {context})) {
                    isNew = true;
                    addNow(subject, predicate, object, context, true);
                    notifyStatementAdded(statement(subject, predicate, object, context), true);
                }
            }
        }
        return isNew;
    }

    private static Resource[] orDefault(Resource[] contexts) {
        return contexts.length == 0 ? DEFAULT_CONTEXT : contexts;
    }

    private static Statement statement(Resource subject, IRI predicate, Value object, Resource context) {
        return context == null
                ? VALUES.createStatement(subject, predicate, object)
                : VALUES.createStatement(subject, predicate, object, context);
    }

    private void add(Resource subject, IRI predicate, Value object, Resource... contexts) {
        store.requireWritable();
        synchronized (lock) {
            changed.setStatementsAdded(true);
            for (Resource context : orDefault(contexts)) {
                checkContext(context);
                pending.add(subject, predicate, object, context);
                if (pending.isFull()) {
                    flushPending();
                }
            }
        }
    }

    /** Adds an explicit statement, and notifies the listeners if it is new. */
    private void addAndNotify(Resource subject, IRI predicate, Value object, Resource... contexts) {
        synchronized (lock) {
            for (Resource context : orDefault(contexts)) {
                checkContext(context);
                if (addNow(subject, predicate, object, context, false)) {
                    notifyStatementAdded(statement(subject, predicate, object, context), false);
                }
            }
        }
    }

    /** Only patterns have terms that are null. */
    private static void requireTerms(Resource subject, IRI predicate, Value object) {
        Objects.requireNonNull(subject, "the subject of a statement to add is null");
        Objects.requireNonNull(predicate, "the predicate of a statement to add is null");
        Objects.requireNonNull(object, "the object of a statement to add is null");
    }

    private static void checkContext(Resource context) {
        if (context != null && StoredTriple.isTriple(context)) {
            throw new SailException(
                    "context argument can not be of type Triple: " + context + "; use an IRI or a blank node");
        }
    }

    /** Adds a statement, and returns whether it is new. */
    private boolean addNow(Resource subject, IRI predicate, Value object, Resource context, boolean inferred) {
        store.requireWritable();
        changed.setStatementsAdded(true);
        flushPending();
        pending.add(subject, predicate, object, context);
        return insertPending(inferred) > 0;
    }

    @Override
    protected void removeStatementsInternal(Resource subject, IRI predicate, Value object, Resource... contexts) {
        removeAndNotify(subject, predicate, object, false, contexts);
    }

    @Override
    public boolean removeInferredStatement(Resource subject, IRI predicate, Value object, Resource... contexts) {
        verifyIsOpen();
        verifyIsActive();
        return removeAndNotify(subject, predicate, object, true, contexts) > 0;
    }

    @Override
    protected void clearInternal(Resource... contexts) {
        removeAndNotify(null, null, null, false, contexts);
    }

    @Override
    public void clearInferred(Resource... contexts) {
        verifyIsOpen();
        verifyIsActive();
        removeAndNotify(null, null, null, true, contexts);
    }

    /** Removes statements, and returns how many. No contexts are all contexts. */
    private long remove(Resource subject, IRI predicate, Value object, boolean inferred, Resource... contexts) {
        synchronized (lock) {
            flushPending();
            prepareChange();
            long count = SailErrors.convert(() -> removeMatching(subject, predicate, object, inferred, contexts));
            if (count > 0) {
                changed.setStatementsRemoved(true);
            }
            return count;
        }
    }

    /** As {@link #remove}. Then it notifies the listeners, which may read and change the transaction. */
    private long removeAndNotify(
            Resource subject, IRI predicate, Value object, boolean inferred, Resource... contexts) {
        synchronized (lock) {
            if (!hasConnectionListeners()) {
                return remove(subject, predicate, object, inferred, contexts);
            }
            try (StatementSpill removed = new StatementSpill()) {
                // Both have the same state: a removal does not move the transaction to a newer one.
                forEachMatching(removed::add, subject, predicate, object, inferred, contexts);
                long count = remove(subject, predicate, object, inferred, contexts);
                removed.forEach(statement -> notifyStatementRemoved(statement, inferred));
                return count;
            }
        }
    }

    private long removeMatching(
            Resource subject, IRI predicate, Value object, boolean inferred, Resource... contexts) {
        if (contexts.length == 0) {
            return PatternTerms.inAll(subject, predicate, object).remove(transaction, inferred);
        }
        long count = 0;
        for (Resource context : contexts) {
            count += PatternTerms.in(context, subject, predicate, object).remove(transaction, inferred);
        }
        return count;
    }

    /** Calls {@code use} with the statements of the transaction that match. It may read and change the transaction. */
    private void forEachMatching(
            Consumer<Statement> use,
            Resource subject,
            IRI predicate,
            Value object,
            boolean inferred,
            Resource... contexts) {
        int kinds = inferred ? QuadPattern.INFERRED : QuadPattern.EXPLICIT;
        flushPending();
        prepareChange();
        try (CloseableIteration<Statement> found = read(false, view -> SailErrors.convert(() -> statements(
                new QuadPattern(view, subject, predicate, object, kinds, contexts), null)))) {
            while (found.hasNext()) {
                use.accept(found.next());
            }
        }
    }

    // SPARQL updates: an operation reads the state before it, so its changes are made when it ends

    @Override
    public void startUpdate(UpdateContext operation) {
        // RDF4J begins every transaction with null.
        if (operation != null) {
            synchronized (lock) {
                hasRefusedUpdate |= store.isReadOnly();
                store.requireWritable();
                updates.put(operation, new UpdateChanges());
            }
        }
    }

    /** RDF4J ignores the exception of an operation that is {@code SILENT}, so the commit throws it too. */
    private void requireNoRefusedUpdate() {
        if (hasRefusedUpdate) {
            store.requireWritable();
        }
    }

    @Override
    public void addStatement(
            UpdateContext operation, Resource subject, IRI predicate, Value object, Resource... contexts) {
        verifyIsOpen();
        verifyIsActive();
        requireTerms(subject, predicate, object);
        UpdateChanges changes = changes(operation);
        if (changes == null) {
            addStatementInternal(subject, predicate, object, contexts);
            return;
        }
        for (Resource context : orDefault(contexts)) {
            checkContext(context);
            Statement statement = statement(subject, predicate, object, context);
            if (hasConnectionListeners()
                    && (changes.removes(statement)
                            || !hasStatementInternal(subject, predicate, object, false, new Resource[] {context}))) {
                notifyStatementAdded(statement, false);
            }
        }
        changes.add(subject, predicate, object, contexts);
    }

    @Override
    public void removeStatement(
            UpdateContext operation, Resource subject, IRI predicate, Value object, Resource... contexts) {
        verifyIsOpen();
        verifyIsActive();
        UpdateChanges changes = changes(operation);
        if (changes == null) {
            removeStatementsInternal(subject, predicate, object, contexts);
            return;
        }
        if (hasConnectionListeners()) {
            synchronized (lock) {
                Consumer<Statement> note = statement -> {
                    changes.noteRemoval(statement);
                    notifyStatementRemoved(statement, false);
                };
                forEachMatching(note, subject, predicate, object, false, contexts);
            }
        }
        changes.remove(subject, predicate, object, contexts);
    }

    /** The changes of an operation of an update; null for changes that are made at once. */
    private UpdateChanges changes(UpdateContext operation) {
        if (operation == null) {
            return null;
        }
        synchronized (lock) {
            return updates.get(operation);
        }
    }

    @Override
    protected void endUpdateInternal(UpdateContext operation) {
        UpdateChanges changes;
        synchronized (lock) {
            changes = updates.remove(operation);
        }
        if (changes != null) {
            // Listeners were notified when the changes were announced.
            changes.apply(
                    (subject, predicate, object, contexts) -> remove(subject, predicate, object, false, contexts),
                    this::add);
        }
    }

    // Namespaces

    @Override
    protected CloseableIteration<? extends Namespace> getNamespacesInternal() {
        List<Namespace> namespaces = new ArrayList<>();
        compute(StoreView::namespaces).forEach((prefix, name) -> namespaces.add(new SimpleNamespace(prefix, name)));
        return new CloseableIteratorIteration<>(namespaces.iterator());
    }

    @Override
    protected String getNamespaceInternal(String prefix) {
        return compute(StoreView::namespaces).get(prefix);
    }

    @Override
    protected void setNamespaceInternal(String prefix, String name) {
        changeNamespace(prefix, name);
    }

    @Override
    protected void removeNamespaceInternal(String prefix) {
        changeNamespace(prefix, null);
    }

    private void changeNamespace(String prefix, String name) {
        synchronized (lock) {
            flushPending();
            prepareChange();
            SailErrors.run(() -> NativeQuads.setNamespace(transaction.raw(), prefix, name));
        }
    }

    @Override
    protected void clearNamespacesInternal() {
        store.requireWritable();
        for (String prefix : compute(StoreView::namespaces).keySet()) {
            changeNamespace(prefix, null);
        }
    }
}
