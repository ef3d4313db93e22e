/* What the runner says: one JSON object per line, on a stream of its own. */
#ifndef DEVPERF_SAY_H
#define DEVPERF_SAY_H

#include <stdint.h>

/* Takes standard output away from every library in this process, so that their chatter (which goes to
 * standard error from here on) can never be taken for an answer. */
void say_open(void);

void say_begin(void);                                  /* {                                  */
void say_key(const char *key);                         /* "key":                             */
void say_text(const char *key, const char *value);     /* "key":"value", null for a null     */
void say_int(const char *key, int64_t value);
void say_size(const char *key, int64_t value);         /* as say_int; negative means null    */
void say_times(const char *key, const double *ns, int64_t count); /* integers where they are whole */
void say_open_list(const char *key);                   /* "key":[                            */
void say_open_object(void);                            /* { inside a list                    */
void say_item_text(const char *value);
void say_item_int(int64_t value);
void say_close_object(void);
void say_close_list(void);
void say_end(void);                                    /* } and a newline, flushed           */

/* One error line {"error":{"stage":…,"text":…}} and the end of the process (exit code 3). */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
void fail(const char *stage, const char *format, ...);

#endif
