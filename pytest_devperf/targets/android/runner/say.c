#define _GNU_SOURCE
#include "say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *answers;
static int first = 1; /* whether the next item needs no comma before it */
static int begun;     /* whether an answer is half said */

void say_open(void) {
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

void say_begin(void) {
    begun = 1;
    fputc('{', answers);
    first = 1;
}

void say_key(const char *key) {
    comma();
    quoted(key);
    fputc(':', answers);
}

void say_text(const char *key, const char *value) {
    say_key(key);
    quoted(value);
}

void say_int(const char *key, int64_t value) {
    say_key(key);
    fprintf(answers, "%lld", (long long)value);
}

void say_size(const char *key, int64_t value) {
    say_key(key);
    if (value < 0) fputs("null", answers);
    else fprintf(answers, "%lld", (long long)value);
}

void say_times(const char *key, const double *ns, int64_t count) {
    say_open_list(key);
    for (int64_t i = 0; i < count; i++) {
        comma();
        if (ns[i] == floor(ns[i])) fprintf(answers, "%lld", (long long)ns[i]);
        else fprintf(answers, "%.4f", ns[i]);
    }
    say_close_list();
}

void say_open_list(const char *key) {
    say_key(key);
    fputc('[', answers);
    first = 1;
}

void say_open_object(void) {
    comma();
    fputc('{', answers);
    first = 1;
}

void say_item_text(const char *value) {
    comma();
    quoted(value);
}

void say_item_int(int64_t value) {
    comma();
    fprintf(answers, "%lld", (long long)value);
}

void say_close_object(void) {
    fputc('}', answers);
    first = 0;
}

void say_close_list(void) {
    fputc(']', answers);
    first = 0;
}

void say_end(void) {
    fputs("}\n", answers);
    begun = 0;
    if (fflush(answers) != 0) _exit(4); /* nobody listens any more */
}

void fail(const char *stage, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (answers == NULL) answers = stdout;
    if (begun) fputc('\n', answers); /* what was begun stays an unreadable line of its own */
    fputs("{\"error\":{\"stage\":", answers);
    quoted(stage);
    fputs(",\"text\":", answers);
    quoted(text);
    fputs("}}\n", answers);
    fflush(answers);
    _exit(3); /* no destructors: a runtime that failed may hang in its own */
}
