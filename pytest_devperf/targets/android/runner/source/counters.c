#define _GNU_SOURCE
#include "counters.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "json_writer.h"

/* Tests count what every kernel counts in software, since their machines have no hardware counters. */
#ifdef DEVPERF_SOFTWARE_COUNTERS
#define TYPE PERF_TYPE_SOFTWARE
#define INSTRUCTIONS PERF_COUNT_SW_TASK_CLOCK
#define CYCLES PERF_COUNT_SW_TASK_CLOCK
#else
#define TYPE PERF_TYPE_HARDWARE
#define INSTRUCTIONS PERF_COUNT_HW_INSTRUCTIONS
#define CYCLES PERF_COUNT_HW_CPU_CYCLES
#endif

static struct {
    const char *name;
    uint64_t config;
    int file;
} events[] = {{"instructions", INSTRUCTIONS, -1}, {"cycles", CYCLES, -1}};
#define EVENT_COUNT (sizeof events / sizeof events[0])

static int open_event(uint64_t config) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = TYPE;
    attributes.config = config;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(__NR_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void request(unsigned long what) {
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (events[i].file >= 0) ioctl(events[i].file, what, 0);
}

void counters_start(void) {
    for (size_t i = 0; i < EVENT_COUNT; i++) events[i].file = open_event(events[i].config);
    request(PERF_EVENT_IOC_ENABLE);
}

void counters_stop(void) { request(PERF_EVENT_IOC_DISABLE); }

/* The count, or -1. A counter that other programs used meanwhile gives an estimate, which is none. */
static int64_t count_of(int file) {
    uint64_t found[3]; /* the count, the time for which it was enabled, and that for which it was counted */
    if (file < 0 || read(file, found, sizeof found) != (ssize_t)sizeof found) return -1;
    return found[0] > 0 && found[1] == found[2] ? (int64_t)found[0] : -1;
}

void counters_json(void) {
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        json_size(events[i].name, count_of(events[i].file));
        if (events[i].file >= 0) close(events[i].file);
        events[i].file = -1;
    }
}
