/* Clocks, memory of this process, and the anchor kernel. */
#ifndef DEVPERF_PROC_H
#define DEVPERF_PROC_H

#include <stdint.h>

int64_t wall_ns(void);      /* CLOCK_MONOTONIC, for iterations                               */
int64_t process_cpu_ns(void);
int64_t thread_cpu_ns(void);
int64_t suspended_ns(void); /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: time asleep since boot      */
int64_t waited_ns(void);    /* run delay of this thread (schedstat), -1 if not known      */
int64_t clock_tick_ns(void);

int64_t rss_bytes(void);    /* current; -1 if not readable */
int64_t pss_bytes(void);    /* stalls the process: never use it in a timed region */
int64_t peak_bytes(void);   /* VmHWM */
int reset_peak(void);       /* 1 if the kernel allowed it */

/* Times the anchor kernel once: the same computation on every device. */
#define ANCHOR_IDENTITY "devperf-mix64/1 " __VERSION__
int64_t anchor_ns(void);

/* Factors on times, from a variable that contains a number, or the path of a file with a number, which is read again
 * before each command. A simulated phone sets them; on other devices they are 1. */
double slowdown(void);       /* DEVPERF_SIM_SLOWDOWN: how much longer the workload takes */
double clock_slowdown(void); /* DEVPERF_SIM_CLOCKS: the part of it caused by the clocks; applies to the anchor */

#endif
