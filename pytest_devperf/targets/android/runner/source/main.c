/* Measures a model on the device that runs it: the on-device half of `devperf.model`.
 *
 *     devperf-runner about                        print its identity: versions, anchor kernel, clock
 *     devperf-runner schema MANIFEST              print inputs and outputs of the model
 *     devperf-runner serve MANIFEST [NAME=FILE]…  load the model, then run one command per line of standard input:
 *                                                 warm N · run ITERATIONS LOOPS ANCHORS · trace N · anchor N ·
 *                                                 outputs FOLDER · quit
 *                                                 While rounds run, the first number of each FILE is sampled, or with
 *                                                 FILE#KEY the number after the key
 *     devperf-runner attend MANIFEST [NAME=FILE]… serve, and exit at once when standard input hangs up
 *     devperf-runner memory MANIFEST ITERATIONS   measure memory, in a separate process
 *     devperf-runner anchor N                     run only the anchor kernel
 *
 * Every answer is one line of JSON on standard output; everything else goes to standard error. At the end of input the
 * process exits, so that a lost connection leaves nothing behind. manifest.h describes the manifest.
 *
 * Build: cc -std=c11 -O2 -o devperf-runner *.c -ldl -lm   (or the NDK's clang with the same arguments) */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "manifest.h"
#include "ort.h"
#include "proc.h"
#include "json_writer.h"
#include "watch.h"

#define RUNNER_VERSION 1 /* raise it when an answer or the manifest changes its meaning */

static void json_identity(void) {
    json_int("runner", RUNNER_VERSION);
    json_text("anchor", ANCHOR_IDENTITY);
    json_int("tick_ns", clock_tick_ns());
    json_int("pid", (int64_t)getpid());
}

static void json_types(const char *key, const struct tensor_type *types, size_t count) {
    json_open_list(key);
    for (size_t i = 0; i < count; i++) {
        json_open_object();
        json_text("name", types[i].name);
        json_text("kind", types[i].kind);
        json_text("dtype", types[i].dtype);
        json_open_list("shape");
        for (size_t d = 0; d < types[i].rank; d++) {
            if (types[i].shape[d] >= 0) json_item_int(types[i].shape[d]);
            else json_item_text(types[i].symbol[d]); /* empty: a free size without a name */
        }
        json_close_list();
        json_close_object();
    }
    json_close_list();
}

static void about(void) {
    json_begin();
    json_identity();
    json_end();
}

static void schema(const char *path) {
    struct manifest *manifest = read_manifest(path);
    ort_open(manifest);
    ort_load(manifest, 0);
    ort_types();
    json_begin();
    json_text("version", runtime.version);
    ort_write_providers();
    json_types("inputs", runtime.input, runtime.inputs);
    json_types("outputs", runtime.output, runtime.outputs);
    json_end();
}

static void load(const struct manifest *manifest) {
    double factor = slowdown();
    int64_t load_ns = ort_load(manifest, 1);
    ort_types();
    ort_read_inputs(manifest);
    ort_bind();
    json_begin();
    json_identity();
    json_text("version", runtime.version);
    ort_write_providers();
    json_int("library_ns", (int64_t)((double)runtime.library_ns * factor));
    json_int("load_ns", (int64_t)((double)load_ns * factor));
    json_end();
}

static void json_anchors(int64_t count) {
    double factor = clock_slowdown(); /* a slower workload does not make the phone slower */
    double *ns = need((size_t)count, sizeof *ns);
    for (int64_t i = 0; i < count; i++) ns[i] = (double)(int64_t)((double)anchor_ns() * factor + 0.5);
    json_times("anchor_ns", ns, count);
    free(ns);
}

/* `after`: how often the anchor is timed right after the last iteration, in the same answer: a separate command
 * would cost a round trip, in which the clock drops. */
static void run(int64_t iterations, int64_t loops, int64_t after) {
    double factor = slowdown();
    double *ns = need((size_t)iterations, sizeof *ns);
    watch_reset();
    counters_start();
    /* The interval of the wall time encloses that of the wait: otherwise a thread that loses its CPU between two
     * reads would seem to wait longer than the round took. */
    int64_t asleep = suspended_ns(), begin = wall_ns(), waited = waited_ns();
    int64_t cpu = process_cpu_ns(), thread = thread_cpu_ns();
    for (int64_t i = 0; i < iterations; i++) {
        int64_t start = wall_ns();
        for (int64_t k = 0; k < loops; k++) ort_run();
        ns[i] = (double)(wall_ns() - start);
    }
    cpu = process_cpu_ns() - cpu;
    thread = thread_cpu_ns() - thread;
    int64_t waited_after = waited_ns(), end = wall_ns();
    asleep = suspended_ns() - asleep;
    counters_stop();
    for (int64_t i = 0; i < iterations; i++) {
        ns[i] = ns[i] / (double)loops * factor;
        if (loops == 1) ns[i] = (double)(int64_t)(ns[i] + 0.5); /* an integer if nothing was divided */
    }
    json_begin();
    json_times("ns", ns, iterations);
    json_int("cpu_ns", (int64_t)((double)cpu * factor));
    json_int("thread_cpu_ns", (int64_t)((double)thread * factor));
    json_int("wall_ns", (int64_t)((double)(end - begin) * factor));
    json_size("waited_ns", waited < 0 || waited_after < 0 ? -1 : waited_after - waited);
    json_int("slept_ns", asleep > 0 ? asleep : 0); /* the two clocks are not read at the same time */
    watch_json();
    counters_json();
    json_anchors(after);
    json_end();
    free(ns);
}

static void anchors(int64_t count) {
    json_begin();
    json_anchors(count);
    json_end();
}

static void warm(int64_t iterations) {
    for (int64_t i = 0; i < iterations; i++) ort_run();
    json_begin();
    json_int("warm", iterations);
    json_end();
}

/* The file lies in the working folder; whoever reads it removes it. */
static void trace(const struct manifest *manifest, int64_t iterations) {
    char *file = ort_trace(manifest, "trace", iterations);
    json_begin();
    json_text("trace", file);
    json_end();
}

static void write_outputs(const char *folder) {
    json_begin();
    json_open_list("outputs");
    ort_write_outputs(folder);
    json_close_list();
    json_end();
}

/* The folder may contain blanks: it is the rest of the line. */
static int obey(const struct manifest *manifest, char *line) {
    char word[16] = "";
    long long first = 0, second = 1, third = 0;
    int length = 0;
    line[strcspn(line, "\r\n")] = 0;
    int fields = sscanf(line, "%15s %n", word, &length);
    if (fields < 1) return 1;
    sscanf(line + length, "%lld %lld %lld", &first, &second, &third);
    if (strcmp(word, "quit") == 0) return 0;
    if (strcmp(word, "outputs") == 0) write_outputs(line + length);
    else if (first < 1 || second < 1 || third < 0) fail("command", "'%s' needs counts of one or more", line);
    else if (strcmp(word, "run") == 0) run(first, second, third);
    else if (strcmp(word, "warm") == 0) warm(first);
    else if (strcmp(word, "trace") == 0) trace(manifest, first);
    else if (strcmp(word, "anchor") == 0) anchors(first);
    else fail("command", "'%s' is not known", word);
    return 1;
}

static void serve(const char *path, int watched, char **watch, int leashed) {
    char line[4096];
    struct manifest *manifest = read_manifest(path);
    watch_start(watched, watch, leashed); /* before the runtime starts threads, since fork copies only one */
    ort_open(manifest);
    load(manifest);
    while (fgets(line, sizeof line, stdin) != NULL && obey(manifest, line)) {}
    watch_stop();
    _exit(0); /* skip destructors: an accelerator's library may crash in them */
}

static void memory(const char *path, int64_t iterations) {
    struct manifest *manifest = read_manifest(path);
    ort_open(manifest);
    ort_read_inputs(manifest);
    int64_t baseline = rss_bytes();
    int exact = reset_peak();
    ort_load(manifest, 1);
    int64_t loaded = rss_bytes(), loaded_pss = pss_bytes();
    ort_types();
    ort_bind();
    for (int64_t i = 0; i < iterations; i++) ort_run();
    int64_t peak = peak_bytes(), pss = pss_bytes();
    ort_unload();
    json_begin();
    json_size("baseline", baseline);
    json_size("loaded", loaded);
    json_size("peak", peak);
    json_size("disposed", rss_bytes());
    json_size("loaded_pss", loaded_pss);
    json_size("pss", pss);
    json_int("peak_was_reset", exact);
    json_end();
    _exit(0);
}

int main(int count, char **argument) {
    const char *word = count > 1 ? argument[1] : "";
    json_open();
    if (strcmp(word, "about") == 0) about();
    else if (strcmp(word, "schema") == 0 && count == 3) schema(argument[2]);
    else if (strcmp(word, "serve") == 0 && count >= 3) serve(argument[2], count - 3, argument + 3, 0);
    else if (strcmp(word, "attend") == 0 && count >= 3) serve(argument[2], count - 3, argument + 3, 1);
    else if (strcmp(word, "memory") == 0 && count == 4) memory(argument[2], strtoll(argument[3], NULL, 10));
    else if (strcmp(word, "anchor") == 0 && count == 3) anchors(strtoll(argument[2], NULL, 10));
    else fail("usage", "devperf-runner about | schema MANIFEST | serve|attend MANIFEST [NAME=FILE]... | memory MANIFEST N | anchor N");
    return 0;
}
