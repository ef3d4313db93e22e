#define _GNU_SOURCE
#include "manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "json_writer.h"

void *need(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (memory == NULL) fail("memory", "no memory for %zu bytes", count * size);
    return memory;
}

static int digit(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

static void decode(char *text) {
    char *to = text;
    for (char *from = text; *from; from++) {
        if (*from == '%' && digit(from[1]) >= 0 && digit(from[2]) >= 0) {
            *to++ = (char)(digit(from[1]) * 16 + digit(from[2]));
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
}

static void split(struct line *line, char *text) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " \r\n", &rest); word != NULL; word = strtok_r(NULL, " \r\n", &rest)) {
        if (line->fields == MOST_FIELDS) fail("manifest", "a line has more than %d values", MOST_FIELDS);
        char *own = strdup(word);
        if (own == NULL) fail("memory", "no memory for the manifest");
        decode(own);
        line->field[line->fields++] = own;
    }
}

static void note(struct manifest *manifest, const struct line *line) {
    if (line->fields < 2) return;
    if (strcmp(line->field[0], "library") == 0) manifest->library = line->field[1];
    else if (strcmp(line->field[0], "model") == 0) manifest->model = line->field[1];
}

struct manifest *read_manifest(const char *path) {
    struct manifest *manifest = need(1, sizeof *manifest);
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0, capacity = 0;
    ssize_t length;
    if (file == NULL) fail("manifest", "%s: %s", path, strerror(errno));
    while ((length = getline(&text, &room, file)) > 0) {
        if (manifest->lines == capacity) {
            capacity = capacity ? capacity * 2 : 32;
            manifest->line = realloc(manifest->line, capacity * sizeof *manifest->line);
            if (manifest->line == NULL) fail("memory", "no memory for the manifest");
        }
        struct line *line = &manifest->line[manifest->lines];
        memset(line, 0, sizeof *line);
        split(line, text);
        if (line->fields == 0) continue;
        note(manifest, line);
        manifest->lines++;
    }
    free(text);
    fclose(file);
    if (manifest->library == NULL) fail("manifest", "%s names no library", path);
    return manifest;
}
