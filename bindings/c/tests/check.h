/* What the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <fulgurite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program unless the condition holds. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__,       \
                    #condition, fulgurite_error_message());                                        \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

#define OK(call) EXPECT((call) == FULGURITE_OK)

/* The code, and that there is a message which contains a text. */
#define FAILS(call, code, text)                                                                    \
    do {                                                                                           \
        EXPECT((call) == (code));                                                                  \
        EXPECT(strstr(fulgurite_error_message(), text) != NULL);                                   \
    } while (0)

#define TEXT(text) (const uint8_t *)(text), strlen(text)

static inline int equals(fulgurite_slice slice, const char *text) {
    return slice.length == strlen(text) && memcmp(slice.data, text, slice.length) == 0;
}

static inline char *path_in(const char *directory, const char *name) {
    size_t length = strlen(directory) + strlen(name) + 2;
    char *path = malloc(length);
    EXPECT(path != NULL);
    snprintf(path, length, "%s/%s", directory, name);
    return path;
}

static inline fulgurite_database created(const char *path) {
    fulgurite_options options = {.size = sizeof options, .create = true};
    fulgurite_database db;
    OK(fulgurite_open(path, &options, &db));
    return db;
}

#endif
