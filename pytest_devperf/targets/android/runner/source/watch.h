/* Samples files during a measurement: a child process reads a number from a few small files every 200 ms and keeps
 * their extremes in shared memory. It does not disturb the measured process: no shell, no adb, no thread. */
#ifndef DEVPERF_WATCH_H
#define DEVPERF_WATCH_H

/* `watch`: NAME=FILE each, or NAME=FILE#KEY for the number after a key within the first 511 bytes. `leashed`: the child
 * also ends the measurement when standard input hangs up, even during a run, so that a phone stops working for a
 * workstation that has disconnected. Without either, no child is started. */
void watch_start(int count, char **watch, int leashed);
void watch_reset(void); /* resets the extremes at the beginning of a round */
void watch_json(void);   /* "watched":[{"name","least","most","reads"}] */
void watch_stop(void);

#endif
