/* A program as one would write it over LMDB: open, put, get, walk a cursor, count, delete.
 *
 *     people DIRECTORY
 */
#include <fulgurite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a call has failed. */
static void check(int code, const char *call) {
    if (code != FULGURITE_OK) {
        fprintf(stderr, "%s: %s: %s\n", call, fulgurite_code_name(code), fulgurite_error_message());
        exit(EXIT_FAILURE);
    }
}

#define CHECK(call) check((call), #call)

static const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

static void put(fulgurite_txn txn, fulgurite_table table, const char *key, const char *value) {
    CHECK(fulgurite_put(txn, table, bytes(key), strlen(key), bytes(value), strlen(value)));
}

/* Counts a visit. Repeats the transaction after a conflict. */
static void visit(fulgurite_database db, fulgurite_table visits, const char *page) {
    int code;
    do {
        fulgurite_txn txn;
        CHECK(fulgurite_begin_write(db, &txn));
        CHECK(fulgurite_add(txn, visits, bytes(page), strlen(page), 1));
        code = fulgurite_commit(txn, NULL);
    } while (fulgurite_is_retryable(code));
    check(code, "fulgurite_commit");
}

int main(int argument_count, char **arguments) {
    char path[4096];
    if (argument_count != 2 || strlen(arguments[1]) > sizeof path - 20) {
        fprintf(stderr, "usage: people DIRECTORY\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/people.ful", arguments[1]);

    fulgurite_options options = {.size = sizeof options, .create = true};
    fulgurite_database db;
    CHECK(fulgurite_open(path, &options, &db));

    fulgurite_table people, visits;
    fulgurite_table_options counters = {.size = sizeof counters, .merge = FULGURITE_MERGE_ADD};
    CHECK(fulgurite_open_or_create_table(db, "people", NULL, &people));
    CHECK(fulgurite_open_or_create_table(db, "visits", &counters, &visits));

    fulgurite_txn txn;
    CHECK(fulgurite_begin_write(db, &txn));
    put(txn, people, "ada", "analytical engine");
    put(txn, people, "grace", "compiler");
    put(txn, people, "edsger", "semaphore");
    CHECK(fulgurite_commit(txn, NULL));
    visit(db, visits, "home");
    visit(db, visits, "home");

    CHECK(fulgurite_begin_read(db, &txn));
    fulgurite_slice key, value;
    CHECK(fulgurite_get(txn, people, bytes("ada"), 3, &value));
    printf("ada: %.*s\n", (int)value.length, (const char *)value.data);

    fulgurite_cursor cursor;
    CHECK(fulgurite_open_cursor(txn, people, &cursor));
    int code = fulgurite_seek(cursor, bytes("b"), 1, &key, &value);
    while (code == FULGURITE_OK) {
        printf("%.*s -> %.*s\n", (int)key.length, (const char *)key.data, (int)value.length,
               (const char *)value.data);
        code = fulgurite_next(cursor, &key, &value);
    }
    if (code != FULGURITE_NOT_FOUND) {
        check(code, "fulgurite_next");
    }
    CHECK(fulgurite_close_cursor(cursor));

    uint64_t count;
    CHECK(fulgurite_get_counter(txn, visits, bytes("home"), 4, &count));
    printf("visits: %llu\n", (unsigned long long)count);
    CHECK(fulgurite_end(txn));

    CHECK(fulgurite_begin_write(db, &txn));
    CHECK(fulgurite_delete(txn, people, bytes("edsger"), 6));
    CHECK(fulgurite_commit(txn, NULL));

    CHECK(fulgurite_begin_read(db, &txn));
    CHECK(fulgurite_count(txn, people, NULL, 0, NULL, 0, &count));
    printf("people: %llu\n", (unsigned long long)count);
    CHECK(fulgurite_end(txn));

    CHECK(fulgurite_close_table(people));
    CHECK(fulgurite_close_table(visits));
    CHECK(fulgurite_close(db));
    return EXIT_SUCCESS;
}
