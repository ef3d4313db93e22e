#define _GNU_SOURCE
#include "json_writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *answers;
static int first = 1; /* whether the next item is the first, without a comma */
static int begun;     /* whether an answer is incomplete */

void json_open(void) {
    int own = dup(STDOUT_FILENO);
    answers = own < 0 ? stdout : fdopen(own, "w");
    if (answers == NULL) answers = stdout;
    if (answers != stdout) dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void comma(void) {
    if (!first) fputc(',', answers);
    first = 0;
}

static void quoted(const char *text) {
    if (text == NULL) {
        fputs("null", answers);
        return;
    }
    fputc('"', answers);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') fprintf(answers, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f) fprintf(answers, "\\u%04x", *at);
        else fputc(*at, answers);
    }
    fputc('"', answers);
}

void json_begin(void) {
    begun = 1;
    fputc('{', answers);
    first = 1;
}

void json_key(const char *key) {
    comma();
    quoted(key);
    fputc(':', answers);
}

void json_text(const char *key, const char *value) {
    json_key(key);
    quoted(value);
}

void json_int(const char *key, int64_t value) {
    json_key(key);
    fprintf(answers, "%lld", (long long)value);
}

void json_size(const char *key, int64_t value) {
    json_key(key);
    if (value < 0) fputs("null", answers);
    else fprintf(answers, "%lld", (long long)value);
}

void json_times(const char *key, const double *ns, int64_t count) {
    json_open_list(key);
    for (int64_t i = 0; i < count; i++) {
        comma();
        if (ns[i] == floor(ns[i])) fprintf(answers, "%lld", (long long)ns[i]);
        else fprintf(answers, "%.4f", ns[i]);
    }
    json_close_list();
}

void json_open_list(const char *key) {
    json_key(key);
    fputc('[', answers);
    first = 1;
}

void json_open_object(void) {
    comma();
    fputc('{', answers);
    first = 1;
}

void json_item_text(const char *value) {
    comma();
    quoted(value);
}

void json_item_int(int64_t value) {
    comma();
    fprintf(answers, "%lld", (long long)value);
}

void json_close_object(void) {
    fputc('}', answers);
    first = 0;
}

void json_close_list(void) {
    fputc(']', answers);
    first = 0;
}

void json_end(void) {
    fputs("}\n", answers);
    begun = 0;
    if (fflush(answers) != 0) _exit(4); /* the reader has closed the pipe */
}

void fail(const char *stage, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (answers == NULL) answers = stdout;
    if (begun) fputc('\n', answers); /* the incomplete answer becomes a separate, unreadable line */
    fputs("{\"error\":{\"stage\":", answers);
    quoted(stage);
    fputs(",\"text\":", answers);
    quoted(text);
    fputs("}}\n", answers);
    fflush(answers);
    _exit(3); /* skip destructors: a runtime that failed may hang in them */
}
