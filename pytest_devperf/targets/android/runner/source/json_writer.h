/* Writes answers: one JSON object per line, on a separate stream. */
#ifndef DEVPERF_JSON_WRITER_H
#define DEVPERF_JSON_WRITER_H

#include <stdint.h>

/* Redirects the standard output of all libraries in this process to standard error, so that their output is never
 * mistaken for an answer. */
void json_open(void);

void json_begin(void);                                  /* {                                  */
void json_key(const char *key);                         /* "key":                             */
void json_text(const char *key, const char *value);     /* "key":"value", null for a null     */
void json_int(const char *key, int64_t value);
void json_size(const char *key, int64_t value);         /* like json_int; negative means null   */
void json_times(const char *key, const double *ns, int64_t count); /* integers if they are whole */
void json_open_list(const char *key);                   /* "key":[                            */
void json_open_object(void);                            /* { in a list                         */
void json_item_text(const char *value);
void json_item_int(int64_t value);
void json_close_object(void);
void json_close_list(void);
void json_end(void);                                    /* } and a newline, flushed           */

/* Prints the line {"error":{"stage":…,"text":…}} and exits (exit code 3). */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
void fail(const char *stage, const char *format, ...);

#endif
