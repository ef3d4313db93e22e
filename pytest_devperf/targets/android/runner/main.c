/* Times a model on the device where it runs: the on-device half of `devperf.model`.
 *
 *     devperf-runner about                        identity: versions, anchor kernel, clock
 *     devperf-runner schema MANIFEST              inputs and outputs of the model
 *     devperf-runner serve MANIFEST [NAME=FILE]…  load, then one command per line of standard input; a number of each
 *                                                 file is sampled while rounds run, its first one or, of FILE#KEY, the
 *                                                 one behind the key:
 *                                                   warm N · run ITERATIONS LOOPS ANCHORS · anchor N · outputs FOLDER · quit
 *     devperf-runner attend MANIFEST [NAME=FILE]… serve, and end at once when standard input hangs up
 *     devperf-runner memory MANIFEST ITERATIONS   sizes, in a pass of its own
 *     devperf-runner anchor N                     the fixed kernel alone
 *
 * Every answer is one line of JSON on standard output; everything else goes to standard error. End of input ends
 * the process, so that a lost connection leaves nothing behind. The manifest is described in manifest.h.
 *
 * Build: cc -std=c11 -O2 -o devperf-runner *.c -ldl -lm   (and the NDK's clang with the same words) */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manifest.h"
#include "ort.h"
#include "proc.h"
#include "say.h"
#include "watch.h"

#define RUNNER_VERSION 1 /* counts up when an answer or the manifest changes its meaning */

static void say_identity(void) {
    say_int("runner", RUNNER_VERSION);
    say_text("anchor", ANCHOR_IDENTITY);
    say_int("tick_ns", clock_tick_ns());
    say_int("pid", (int64_t)getpid());
}

static void say_types(const char *key, const struct tensor_type *types, size_t count) {
    say_open_list(key);
    for (size_t i = 0; i < count; i++) {
        say_open_object();
        say_text("name", types[i].name);
        say_text("kind", types[i].kind);
        say_text("dtype", types[i].dtype);
        say_open_list("shape");
        for (size_t d = 0; d < types[i].rank; d++) {
            if (types[i].shape[d] >= 0) say_item_int(types[i].shape[d]);
            else say_item_text(types[i].symbol[d]); /* an empty text: a free size without a name */
        }
        say_close_list();
        say_close_object();
    }
    say_close_list();
}

static void about(void) {
    say_begin();
    say_identity();
    say_end();
}

static void schema(const char *path) {
    struct manifest *manifest = read_manifest(path);
    ort_open(manifest);
    ort_load(manifest, 0);
    ort_types();
    say_begin();
    say_text("version", runtime.version);
    ort_say_providers();
    say_types("inputs", runtime.input, runtime.inputs);
    say_types("outputs", runtime.output, runtime.outputs);
    say_end();
}

static void load(const struct manifest *manifest) {
    double factor = slowdown();
    int64_t load_ns = ort_load(manifest, 1);
    ort_types();
    ort_read_inputs(manifest);
    ort_bind();
    say_begin();
    say_identity();
    say_text("version", runtime.version);
    ort_say_providers();
    say_int("library_ns", (int64_t)((double)runtime.library_ns * factor));
    say_int("load_ns", (int64_t)((double)load_ns * factor));
    say_end();
}

static void say_anchors(int64_t count) {
    double factor = clock_slowdown(); /* a slower workload is no slower phone */
    double *ns = need((size_t)count, sizeof *ns);
    for (int64_t i = 0; i < count; i++) ns[i] = (double)(int64_t)((double)anchor_ns() * factor + 0.5);
    say_times("anchor_ns", ns, count);
    free(ns);
}

/* `after`: how often the anchor is timed right after the last iteration, in the same answer: a question of its own
 * would cost a round trip, in which the clock falls. */
static void run(int64_t iterations, int64_t loops, int64_t after) {
    double factor = slowdown();
    double *ns = need((size_t)iterations, sizeof *ns);
    watch_reset();
    /* The wall window encloses that of the wait: a thread that loses its CPU between two reads would else seem to wait
     * longer than the round took. */
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
    for (int64_t i = 0; i < iterations; i++) {
        ns[i] = ns[i] / (double)loops * factor;
        if (loops == 1) ns[i] = (double)(int64_t)(ns[i] + 0.5); /* whole where nothing was divided */
    }
    say_begin();
    say_times("ns", ns, iterations);
    say_int("cpu_ns", (int64_t)((double)cpu * factor));
    say_int("thread_cpu_ns", (int64_t)((double)thread * factor));
    say_int("wall_ns", (int64_t)((double)(end - begin) * factor));
    say_size("waited_ns", waited < 0 || waited_after < 0 ? -1 : waited_after - waited);
    say_int("slept_ns", asleep > 0 ? asleep : 0); /* the two clocks are read one after the other */
    watch_say();
    say_anchors(after);
    say_end();
    free(ns);
}

static void anchors(int64_t count) {
    say_begin();
    say_anchors(count);
    say_end();
}

static void warm(int64_t iterations) {
    for (int64_t i = 0; i < iterations; i++) ort_run();
    say_begin();
    say_int("warm", iterations);
    say_end();
}

static void write_outputs(const char *folder) {
    say_begin();
    say_open_list("outputs");
    ort_write_outputs(folder);
    say_close_list();
    say_end();
}

/* The folder may hold blanks: it is the rest of the line. */
static int obey(char *line) {
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
    else if (strcmp(word, "anchor") == 0) anchors(first);
    else fail("command", "'%s' is not known", word);
    return 1;
}

static void serve(const char *path, int watched, char **watch, int leashed) {
    char line[4096];
    struct manifest *manifest = read_manifest(path);
    watch_start(watched, watch, leashed); /* before the runtime starts threads: a fork copies only this one */
    ort_open(manifest);
    load(manifest);
    while (fgets(line, sizeof line, stdin) != NULL && obey(line)) {}
    watch_stop();
    _exit(0); /* an accelerator's library may crash while it is taken down: nothing is left to lose */
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
    say_begin();
    say_size("baseline", baseline);
    say_size("loaded", loaded);
    say_size("peak", peak);
    say_size("disposed", rss_bytes());
    say_size("loaded_pss", loaded_pss);
    say_size("pss", pss);
    say_int("peak_was_reset", exact);
    say_end();
    _exit(0);
}

int main(int count, char **argument) {
    const char *word = count > 1 ? argument[1] : "";
    say_open();
    if (strcmp(word, "about") == 0) about();
    else if (strcmp(word, "schema") == 0 && count == 3) schema(argument[2]);
    else if (strcmp(word, "serve") == 0 && count >= 3) serve(argument[2], count - 3, argument + 3, 0);
    else if (strcmp(word, "attend") == 0 && count >= 3) serve(argument[2], count - 3, argument + 3, 1);
    else if (strcmp(word, "memory") == 0 && count == 4) memory(argument[2], strtoll(argument[3], NULL, 10));
    else if (strcmp(word, "anchor") == 0 && count == 3) anchors(strtoll(argument[2], NULL, 10));
    else fail("usage", "devperf-runner about | schema MANIFEST | serve|attend MANIFEST [NAME=FILE]... | memory MANIFEST N | anchor N");
    return 0;
}
