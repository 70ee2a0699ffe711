/* What programs do wrong is an error, not harm. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int null_key(void *context, fulgurite_slice *key, fulgurite_slice *value) {
    (void)context, (void)value;
    key->length = 5;
    return 1;
}

static void test_arguments(const char *path) {
    fulgurite_database db, none = {0};
    fulgurite_options options = {.size = 3};
    FAILS(fulgurite_open(path, &options, &db), FULGURITE_INVALID, "sizeof");
    FAILS(fulgurite_open(NULL, NULL, &db), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_open(path, NULL, NULL), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_open(path, NULL, &db), FULGURITE_DATABASE_NOT_FOUND, "misuse.ful");
    options = (fulgurite_options){.size = sizeof options, .create = true, .durability = 9};
    FAILS(fulgurite_open(path, &options, &db), FULGURITE_INVALID, "9");
    FAILS(fulgurite_close(none), FULGURITE_CLOSED, "database");

    db = created(path);
    fulgurite_table table;
    FAILS(fulgurite_create_table(db, NULL, NULL, &table), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_create_table(db, "\xff", NULL, &table), FULGURITE_INVALID, "UTF-8");
    fulgurite_table_options of_table = {.size = sizeof of_table, .key_type = "u46"};
    FAILS(fulgurite_create_table(db, "t", &of_table, &table), FULGURITE_INVALID, "key_type: `u46` names no type");
    of_table = (fulgurite_table_options){.size = sizeof of_table, .key_type = "", .value_type = "(u32,text)"};
    FAILS(fulgurite_open_or_create_table(db, "t", &of_table, &table), FULGURITE_INVALID, "value_type");
    OK(fulgurite_create_table(db, "t", NULL, &table));
    fulgurite_txn txn;
    OK(fulgurite_begin_write(db, &txn));
    FAILS(fulgurite_put(txn, table, NULL, 1, NULL, 0), FULGURITE_INVALID, "key");
    FAILS(fulgurite_put(txn, table, TEXT("k"), NULL, 1), FULGURITE_INVALID, "value");
    FAILS(fulgurite_put_packed(txn, table, TEXT("ab"), (const size_t[]){3}, NULL, 0, (const size_t[]){0}, 1),
          FULGURITE_INVALID, "key_ends");
    FAILS(fulgurite_get(txn, table, TEXT("k"), NULL), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_rollback_to(txn, 7), FULGURITE_INVALID, "savepoint");
    OK(fulgurite_end(txn));
    FAILS(fulgurite_bulk_load(db, table, true, NULL, NULL, NULL), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_bulk_load(db, table, true, null_key, NULL, NULL), FULGURITE_INPUT, "key of an entry is NULL");
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
}

static void test_closed_and_wrong_handles(const char *path) {
    fulgurite_database db = created(path);
    fulgurite_table table, closed;
    fulgurite_txn txn, none = {0};
    fulgurite_slice value;
    OK(fulgurite_open_table(db, "t", &table));
    OK(fulgurite_open_table(db, "t", &closed));
    OK(fulgurite_close_table(closed));
    FAILS(fulgurite_close_table(closed), FULGURITE_CLOSED, "table");
    OK(fulgurite_begin_read(db, &txn));
    FAILS(fulgurite_get(txn, closed, TEXT("k"), &value), FULGURITE_CLOSED, "table");
    FAILS(fulgurite_get(none, table, TEXT("k"), &value), FULGURITE_CLOSED, "transaction");
    FAILS(fulgurite_put(txn, table, TEXT("k"), TEXT("v")), FULGURITE_READ_ONLY, "begin a write transaction");
    FAILS(fulgurite_commit(txn, NULL), FULGURITE_READ_ONLY, "begin a write transaction");
    /* Handles of other kinds. */
    fulgurite_txn wrong = {table.id};
    FAILS(fulgurite_get(wrong, table, TEXT("k"), &value), FULGURITE_INVALID, "table was used");
    FAILS(fulgurite_end(wrong), FULGURITE_INVALID, "table was used");
    fulgurite_table database_as_table = {db.id};
    FAILS(fulgurite_get(txn, database_as_table, TEXT("k"), &value), FULGURITE_INVALID, "database");
    fulgurite_database table_as_database = {table.id};
    FAILS(fulgurite_close(table_as_database), FULGURITE_INVALID, "table was used");
    OK(fulgurite_end(txn));
    FAILS(fulgurite_end(txn), FULGURITE_CLOSED, "transaction");
    FAILS(fulgurite_get(txn, table, TEXT("k"), &value), FULGURITE_CLOSED, "transaction");
    /* A newer object has the place of an older one, and the old handle still leads nowhere. */
    fulgurite_txn newer;
    OK(fulgurite_begin_read(db, &newer));
    FAILS(fulgurite_get(txn, table, TEXT("k"), &value), FULGURITE_CLOSED, "transaction");
    OK(fulgurite_end(newer));
    fulgurite_cursor cursor;
    OK(fulgurite_begin_write(db, &txn));
    OK(fulgurite_open_cursor(txn, table, &cursor));
    OK(fulgurite_close_cursor(cursor));
    FAILS(fulgurite_close_cursor(cursor), FULGURITE_CLOSED, "cursor");
    OK(fulgurite_open_cursor(txn, table, &cursor));
    OK(fulgurite_end(txn));
    FAILS(fulgurite_first(cursor, &value, NULL), FULGURITE_CLOSED, "transaction");
    OK(fulgurite_close_cursor(cursor));
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
    FAILS(fulgurite_close(db), FULGURITE_CLOSED, "database");
    FAILS(fulgurite_begin_read(db, &txn), FULGURITE_CLOSED, "database");
}

static void test_closing_with_open_transactions(const char *path) {
    fulgurite_database db = created(path), second;
    fulgurite_table table;
    fulgurite_txn writer, reader;
    fulgurite_slice value;
    OK(fulgurite_open_table(db, "t", &table));
    OK(fulgurite_begin_write(db, &writer));
    OK(fulgurite_put(writer, table, TEXT("kept"), TEXT("v")));
    OK(fulgurite_commit(writer, NULL));
    OK(fulgurite_begin_read(db, &reader));
    OK(fulgurite_begin_write(db, &writer));
    OK(fulgurite_put(writer, table, TEXT("lost"), TEXT("v")));
    OK(fulgurite_close(db));
    OK(fulgurite_get(reader, table, TEXT("kept"), &value));
    EXPECT(equals(value, "v"));
    FAILS(fulgurite_commit(writer, NULL), FULGURITE_CLOSED, "closed");
    fulgurite_options options = {.size = sizeof options};
    FAILS(fulgurite_open(path, &options, &second), FULGURITE_LOCKED, "misuse.ful");
    OK(fulgurite_end(reader));
    OK(fulgurite_open(path, &options, &second));
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(second));
}

/* Two openings share a database; the last one closes it. */
static void test_two_openings(const char *path) {
    fulgurite_database one = created(path), other = created(path);
    fulgurite_txn txn;
    OK(fulgurite_close(one));
    OK(fulgurite_begin_read(other, &txn));
    OK(fulgurite_end(txn));
    OK(fulgurite_close(other));
}

/* So they do if the first one has created the file, by a bare name or by a link. Leaves the current directory. */
static void test_two_openings_of_a_new_file(const char *directory) {
    EXPECT(chdir(directory) == 0);
    EXPECT(symlink("target.ful", "link.ful") == 0);
    const char *names[] = {"bare.ful", "link.ful"};
    for (size_t i = 0; i < 2; i++) {
        test_two_openings(names[i]);
    }
    EXPECT(access("target.ful", F_OK) == 0);
}

struct shared {
    fulgurite_txn txn;
    fulgurite_table table;
};

static void *hammer(void *context) {
    struct shared *shared = context;
    for (int i = 0; i < 2000; i++) {
        fulgurite_slice value;
        int code = fulgurite_get(shared->txn, shared->table, TEXT("kept"), &value);
        EXPECT(code == FULGURITE_OK || code == FULGURITE_CLOSED || code == FULGURITE_NOT_FOUND);
        code = fulgurite_put(shared->txn, shared->table, TEXT("kept"), TEXT("w"));
        EXPECT(code == FULGURITE_OK || code == FULGURITE_CLOSED);
    }
    return NULL;
}

/* Threads use a transaction while another one ends it. */
static void test_threads(const char *path) {
    fulgurite_database db = created(path);
    struct shared shared;
    OK(fulgurite_open_table(db, "t", &shared.table));
    for (int round = 0; round < 5; round++) {
        pthread_t threads[4];
        OK(fulgurite_begin_write(db, &shared.txn));
        for (int i = 0; i < 4; i++) {
            EXPECT(pthread_create(&threads[i], NULL, hammer, &shared) == 0);
        }
        OK(round % 2 == 0 ? fulgurite_commit(shared.txn, NULL) : fulgurite_end(shared.txn));
        for (int i = 0; i < 4; i++) {
            EXPECT(pthread_join(threads[i], NULL) == 0);
        }
    }
    OK(fulgurite_close_table(shared.table));
    OK(fulgurite_close(db));
}

static void *get_until_closed(void *context) {
    struct shared *shared = context;
    fulgurite_slice value;
    int code;
    do {
        code = fulgurite_get(shared->txn, shared->table, TEXT("kept"), &value);
        EXPECT(code == FULGURITE_OK || code == FULGURITE_NOT_FOUND || code == FULGURITE_CLOSED);
    } while (code != FULGURITE_CLOSED);
    return NULL;
}

static void *put_until_closed(void *context) {
    struct shared *shared = context;
    int code;
    do {
        code = fulgurite_put(shared->txn, shared->table, TEXT("kept"), TEXT("w"));
        EXPECT(code == FULGURITE_OK || code == FULGURITE_CLOSED);
    } while (code != FULGURITE_CLOSED);
    return NULL;
}

/* Threads read and change by one transaction while another thread closes the table: none waits for ever. */
static void test_threads_while_a_table_is_closed(const char *path) {
    fulgurite_database db = created(path);
    struct shared shared;
    OK(fulgurite_begin_write(db, &shared.txn));
    alarm(300);
    for (int round = 0; round < 300; round++) {
        pthread_t threads[4];
        OK(fulgurite_open_table(db, "t", &shared.table));
        for (int i = 0; i < 4; i++) {
            EXPECT(pthread_create(&threads[i], NULL, i % 2 == 0 ? get_until_closed : put_until_closed, &shared) == 0);
        }
        usleep(500);
        OK(fulgurite_close_table(shared.table));
        for (int i = 0; i < 4; i++) {
            EXPECT(pthread_join(threads[i], NULL) == 0);
        }
    }
    alarm(0);
    OK(fulgurite_end(shared.txn));
    OK(fulgurite_close(db));
}

/* One handle as a transaction and as a table. */
static void test_one_handle_twice(const char *path) {
    fulgurite_database db = created(path);
    fulgurite_table table;
    fulgurite_txn txn;
    fulgurite_slice value;
    OK(fulgurite_open_table(db, "t", &table));
    OK(fulgurite_begin_write(db, &txn));
    fulgurite_txn table_as_txn = {table.id};
    fulgurite_table txn_as_table = {txn.id};
    FAILS(fulgurite_get(table_as_txn, table, TEXT("k"), &value), FULGURITE_INVALID, "used as a transaction");
    FAILS(fulgurite_put(txn, txn_as_table, TEXT("k"), TEXT("v")), FULGURITE_INVALID, "used as a table");
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
}

/* A child made by fork cannot use what its parent has opened, and the parent continues. */
static void test_fork(const char *path) {
    /* No other thread of the library is in a call while this one forks. */
    fulgurite_options options = {.size = sizeof options, .create = true, .no_background = true};
    fulgurite_database db;
    fulgurite_table table;
    fulgurite_txn reader, writer;
    fulgurite_slice value;
    OK(fulgurite_open(path, &options, &db));
    OK(fulgurite_open_table(db, "t", &table));
    OK(fulgurite_begin_read(db, &reader));
    OK(fulgurite_begin_write(db, &writer));
    OK(fulgurite_put(writer, table, TEXT("forked"), TEXT("v")));
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        const char *remedy = "open it again in this process";
        fulgurite_txn txn;
        FAILS(fulgurite_begin_read(db, &txn), FULGURITE_FORKED, remedy);
        FAILS(fulgurite_begin_write(db, &txn), FULGURITE_FORKED, remedy);
        FAILS(fulgurite_get(reader, table, TEXT("forked"), &value), FULGURITE_FORKED, remedy);
        FAILS(fulgurite_put(writer, table, TEXT("forked"), TEXT("w")), FULGURITE_FORKED, remedy);
        FAILS(fulgurite_commit(writer, NULL), FULGURITE_FORKED, remedy);
        _exit(EXIT_SUCCESS);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    OK(fulgurite_commit(writer, NULL));
    EXPECT(fulgurite_get(reader, table, TEXT("forked"), &value) == FULGURITE_NOT_FOUND);
    OK(fulgurite_end(reader));
    OK(fulgurite_begin_read(db, &reader));
    OK(fulgurite_get(reader, table, TEXT("forked"), &value));
    EXPECT(equals(value, "v"));
    OK(fulgurite_end(reader));
    OK(fulgurite_close_table(table));
    OK(fulgurite_close(db));
}

static fulgurite_database merging;
static fulgurite_txn merging_txn;
static fulgurite_table merging_table;
static const char *merging_path;

static void count_release(void *context) { ++*(int *)context; }

static int careless(void *context, fulgurite_slice key, fulgurite_slice value, const fulgurite_slice *operands,
                    size_t count);

/* Opens databases, which is refused whether or not the options are valid, and releases the contexts. */
static void open_while_merging(void) {
    int released = 0;
    fulgurite_database opened;
    fulgurite_merge_function functions[] = {{"a", NULL, &released, count_release}, {"b", NULL, &released, NULL}};
    fulgurite_options options = {.size = sizeof options, .merge_functions = functions, .merge_function_count = 1};
    FAILS(fulgurite_open(merging_path, NULL, &opened), FULGURITE_INVALID, "merge function");
    FAILS(fulgurite_open(merging_path, &options, &opened), FULGURITE_INVALID, "NULL");
    EXPECT(released == 1);
    functions[0].merge = functions[1].merge = careless;
    options.merge_function_count = 2;
    FAILS(fulgurite_open(merging_path, &options, &opened), FULGURITE_INVALID, "a merge function cannot call this");
    EXPECT(released == 2);
}

/* Calls what it must not call. */
static int careless(void *context, fulgurite_slice key, fulgurite_slice value, const fulgurite_slice *operands,
                    size_t count) {
    (void)context, (void)value, (void)count;
    fulgurite_slice found;
    fulgurite_txn txn;
    FAILS(fulgurite_begin_write(merging, &txn), FULGURITE_INVALID, "merge function");
    FAILS(fulgurite_get(merging_txn, merging_table, key.data, key.length, &found), FULGURITE_INVALID,
          "merge function");
    FAILS(fulgurite_close(merging), FULGURITE_INVALID, "merge function");
    open_while_merging();
    FAILS(fulgurite_set_merge_result(NULL, 1), FULGURITE_INVALID, "NULL");
    FAILS(fulgurite_set_merge_error(NULL), FULGURITE_INVALID, "NULL");
    /* The last call counts. */
    fulgurite_set_merge_error("not this");
    return fulgurite_set_merge_result(operands[0].data, operands[0].length);
}

static void test_merge_functions(const char *path) {
    int released = 0;
    merging_path = path;
    fulgurite_merge_function functions[2] = {{"careless", careless, &released, count_release},
                                             {NULL, careless, &released, count_release}};
    fulgurite_options options = {
        .size = sizeof options, .create = true, .merge_functions = functions, .merge_function_count = 2};
    FAILS(fulgurite_open(path, &options, &merging), FULGURITE_INVALID, "name");
    functions[1] = (fulgurite_merge_function){"none", NULL, &released, count_release};
    FAILS(fulgurite_open(path, &options, &merging), FULGURITE_INVALID, "none");
    EXPECT(released == 4);
    options.merge_function_count = 1;
    options.durability = 9;
    FAILS(fulgurite_open(path, &options, &merging), FULGURITE_INVALID, "9");
    options.durability = 0;
    FAILS(fulgurite_open(NULL, &options, &merging), FULGURITE_INVALID, "NULL");
    EXPECT(released == 6);
    options.merge_functions = NULL;
    FAILS(fulgurite_open(path, &options, &merging), FULGURITE_INVALID, "merge_functions");
    options.merge_functions = functions;
    OK(fulgurite_open(path, &options, &merging));
    fulgurite_table_options of_table = {
        .size = sizeof of_table, .merge = FULGURITE_MERGE_ADD, .merge_function = "careless"};
    FAILS(fulgurite_create_table(merging, "m", &of_table, &merging_table), FULGURITE_INVALID, "not both");
    of_table.merge = 0;
    OK(fulgurite_create_table(merging, "m", &of_table, &merging_table));
    OK(fulgurite_begin_write(merging, &merging_txn));
    OK(fulgurite_merge(merging_txn, merging_table, TEXT("k"), TEXT("v")));
    fulgurite_slice value;
    OK(fulgurite_get(merging_txn, merging_table, TEXT("k"), &value));
    EXPECT(equals(value, "v"));
    OK(fulgurite_commit(merging_txn, NULL));
    FAILS(fulgurite_set_merge_result(TEXT("x")), FULGURITE_INVALID, "no merge function runs");
    FAILS(fulgurite_set_merge_error("x"), FULGURITE_INVALID, "no merge function runs");
    /* The database is open: it keeps its function, and the second context is released at once. */
    fulgurite_database again;
    OK(fulgurite_open(path, &options, &again));
    EXPECT(released == 7);
    functions[0].name = "other";
    FAILS(fulgurite_open(path, &options, &again), FULGURITE_ALREADY_OPEN, "open");
    OK(fulgurite_close(again));
    OK(fulgurite_close_table(merging_table));
    OK(fulgurite_close(merging));
    EXPECT(released == 9);
}

static int first_operand(void *context, fulgurite_slice key, fulgurite_slice value, const fulgurite_slice *operands,
                         size_t count) {
    (void)context, (void)key, (void)value, (void)count;
    return fulgurite_set_merge_result(operands[0].data, operands[0].length);
}

static void test_merge_functions_of_one_name(const char *path) {
    int released = 0;
    fulgurite_database db;
    fulgurite_merge_function functions[] = {{"twin", first_operand, &released, count_release},
                                            {"other", first_operand, &released, count_release},
                                            {"twin", first_operand, &released, count_release}};
    fulgurite_options options = {
        .size = sizeof options, .create = true, .merge_functions = functions, .merge_function_count = 3};
    FAILS(fulgurite_open(path, &options, &db), FULGURITE_INVALID, "`twin` twice");
    EXPECT(released == 3);
}

static fulgurite_database releasing;

/* Calls the library, which a release must not. */
static void careless_release(void *context) {
    fulgurite_txn txn;
    fulgurite_database opened;
    FAILS(fulgurite_begin_read(releasing, &txn), FULGURITE_INVALID, "release callback");
    FAILS(fulgurite_close(releasing), FULGURITE_INVALID, "release callback");
    FAILS(fulgurite_open(merging_path, NULL, &opened), FULGURITE_INVALID, "release callback");
    FAILS(fulgurite_set_merge_result(TEXT("x")), FULGURITE_INVALID, "no merge function runs");
    FAILS(fulgurite_set_merge_error("x"), FULGURITE_INVALID, "no merge function runs");
    ++*(int *)context;
}

/* Fails to open, which releases a context within the merge function, and sets no result. */
static int releases_and_sets_nothing(void *context, fulgurite_slice key, fulgurite_slice value,
                                     const fulgurite_slice *operands, size_t count) {
    (void)key, (void)value, (void)operands, (void)count;
    fulgurite_database opened;
    fulgurite_merge_function function = {"inner", first_operand, context, careless_release};
    fulgurite_options options = {.size = sizeof options, .merge_functions = &function, .merge_function_count = 1};
    FAILS(fulgurite_open(merging_path, &options, &opened), FULGURITE_INVALID, "merge function");
    return FULGURITE_OK;
}

/* A release calls the library: at a second opening, within a merge function, and at the end. */
static void test_releases_that_call_the_library(const char *path) {
    int released = 0;
    merging_path = path;
    fulgurite_merge_function function = {"careless", releases_and_sets_nothing, &released, careless_release};
    fulgurite_options options = {
        .size = sizeof options, .create = true, .merge_functions = &function, .merge_function_count = 1};
    fulgurite_database again;
    fulgurite_table table;
    fulgurite_txn txn;
    fulgurite_slice value;
    OK(fulgurite_open(path, &options, &releasing));
    OK(fulgurite_open(path, &options, &again));
    EXPECT(released == 1);
    OK(fulgurite_close(again));
    OK(fulgurite_open_table(releasing, "m", &table));
    OK(fulgurite_begin_write(releasing, &txn));
    OK(fulgurite_merge(txn, table, TEXT("k"), TEXT("v")));
    FAILS(fulgurite_get(txn, table, TEXT("k"), &value), FULGURITE_UNMERGEABLE, "set no result");
    EXPECT(released >= 2);
    OK(fulgurite_end(txn));
    OK(fulgurite_close_table(table));
    released = 0;
    OK(fulgurite_close(releasing));
    EXPECT(released == 1);
}

int main(int argument_count, char **arguments) {
    EXPECT(argument_count == 2);
    char *path = path_in(arguments[1], "misuse.ful");
    test_arguments(path);
    test_closed_and_wrong_handles(path);
    test_closing_with_open_transactions(path);
    test_two_openings(path);
    test_threads(path);
    test_threads_while_a_table_is_closed(path);
    test_one_handle_twice(path);
    test_fork(path);
    test_merge_functions(path);
    test_merge_functions_of_one_name(path);
    test_releases_that_call_the_library(path);
    test_two_openings_of_a_new_file(arguments[1]);
    free(path);
    return EXIT_SUCCESS;
}
