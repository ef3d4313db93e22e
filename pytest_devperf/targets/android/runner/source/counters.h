/* Hardware counters of this thread, in user space.
 *
 * Most phones forbid to read them; `setprop security.perf_harden 0` allows it to the shell, which is the user's choice:
 * the runner never changes it. */
#ifndef DEVPERF_COUNTERS_H
#define DEVPERF_COUNTERS_H

void counters_start(void); /* counts from now on, if that is possible                          */
void counters_stop(void);
void counters_json(void);  /* "instructions":…,"cycles":…, null if they cannot be read         */

#endif
