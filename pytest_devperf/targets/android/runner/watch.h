/* A sampler beside the measurement: a child process that reads a number of a few small files every 200 ms and keeps
 * their extremes in shared memory. It costs the measured process nothing: no shell, no adb, no thread. */
#ifndef DEVPERF_WATCH_H
#define DEVPERF_WATCH_H

/* NAME=FILE each, or NAME=FILE#KEY for the number behind a key within its first 511 bytes. `leashed`: the child also ends the measurement when standard input hangs up, in the middle of a
 * run too: a workstation that is gone leaves no phone at work. Neither: nothing is started. */
void watch_start(int count, char **watch, int leashed);
void watch_reset(void); /* forget the extremes: a round begins */
void watch_say(void);   /* "watched":[{"name","least","most","reads"}] */
void watch_stop(void);

#endif
