#define _GNU_SOURCE
#include "proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t wall_ns(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t process_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
int64_t thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
int64_t suspended_ns(void) { return read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC); }

int64_t clock_tick_ns(void) {
    int64_t least = 0;
    int64_t before = wall_ns();
    for (int i = 0; i < 10000; i++) { /* about 0.5 ms; the smallest step occurs within a few dozen reads */
        int64_t now = wall_ns();
        if (now > before && (least == 0 || now - before < least)) least = now - before;
        before = now;
    }
    return least;
}

static int64_t field_of(const char *path, const char *field, int64_t unit) {
    char line[512];
    size_t length = strlen(field);
    FILE *file = fopen(path, "re");
    int64_t value = -1;
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, length) != 0) continue;
        value = strtoll(line + length, NULL, 10) * unit;
        break;
    }
    fclose(file);
    return value;
}

int64_t rss_bytes(void) {
    /* smaps_rollup counts pages; VmRSS may lag by 64 pages per thread (kernel
     * Documentation/filesystems/proc.rst). */
    int64_t exact = field_of("/proc/self/smaps_rollup", "Rss:", 1024);
    return exact >= 0 ? exact : field_of("/proc/self/status", "VmRSS:", 1024);
}

int64_t pss_bytes(void) { return field_of("/proc/self/smaps_rollup", "Pss:", 1024); }
int64_t peak_bytes(void) { return field_of("/proc/self/status", "VmHWM:", 1024); }

int reset_peak(void) {
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return 0;
    int done = write(file, "5", 1) == 1; /* 5: reset the peak resident set (proc.rst) */
    close(file);
    return done;
}

int64_t waited_ns(void) {
    char path[64];
    long long ran = 0, waited = -1;
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    if (fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = -1;
    fclose(file);
    /* A kernel built without scheduler statistics prints 0 0 0. */
    return ran == 0 ? -1 : waited;
}

/* 4096 words are the 32 KiB of the smallest first-level cache in use; 24 passes take about 0.3 ms on a 2 GHz core:
 * long enough for the clock, short enough to be timed seven times per round. The multiplications depend on each
 * other, so that the time follows the core's clock and not its width. */
#define ANCHOR_WORDS 4096
#define ANCHOR_PASSES 24

static volatile uint64_t anchor_result;

int64_t anchor_ns(void) {
    static uint64_t words[ANCHOR_WORDS];
    uint64_t state = 0x9e3779b97f4a7c15u; /* the golden ratio's bits: any odd constant works */
    int64_t start = wall_ns();
    for (int pass = 0; pass < ANCHOR_PASSES; pass++) {
        for (int i = 0; i < ANCHOR_WORDS; i++) {
            state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9u + words[i];
            words[i] = state;
        }
    }
    int64_t spent = wall_ns() - start;
    anchor_result = state;
    return spent;
}

static double factor_of(const char *variable) {
    const char *text = getenv(variable);
    char line[64] = "";
    if (text != NULL && *text == '/') {
        FILE *file = fopen(text, "re");
        if (file == NULL) return 1.0;
        if (fgets(line, sizeof line, file) == NULL) line[0] = 0;
        fclose(file);
        text = line;
    }
    if (text == NULL) return 1.0;
    double factor = strtod(text, NULL);
    return factor > 0 ? factor : 1.0;
}

double slowdown(void) { return factor_of("DEVPERF_SIM_SLOWDOWN"); }
double clock_slowdown(void) { return factor_of("DEVPERF_SIM_CLOCKS"); }
