#define _GNU_SOURCE
#include "watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "json_writer.h"

/* A thermal governor acts within seconds, and a frequency cap lasts for at least one polling period of the thermal
 * framework (typically 250 ms to 1 s): sampling every 200 ms misses none of them. */
#define PERIOD_NS 200000000

#define MOST_WATCHED 24

struct watched {
    const char *name, *path, *key; /* key: NULL for the first number of the file */
    volatile int64_t least, most, reads;
};

static struct watched *watched;
static int count;
static pid_t child;

/* Opened for each reading, about 5 us, to see a file that was replaced (a CPU that is online again). */
static int read_number(const char *path, const char *key, int64_t *value) {
    char text[512]; /* MemAvailable is the third line of /proc/meminfo */
    char *end = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    char *number = key == NULL ? text : strstr(text, key);
    if (number == NULL) return 0;
    if (key != NULL) number += strlen(key);
    *value = strtoll(number, &end, 10);
    return end != number;
}

static void look(struct watched *one) {
    int64_t value;
    if (!read_number(one->path, one->key, &value)) return;
    if (one->reads == 0 || value < one->least) one->least = value;
    if (one->reads == 0 || value > one->most) one->most = value;
    one->reads++;
}

/* Whether the other end of standard input is closed. */
static int hung_up(void) {
    struct pollfd input = {STDIN_FILENO, POLLRDHUP, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

static void sample_forever(int leashed) {
    struct timespec period = {0, PERIOD_NS};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* exits with the measurement */
    for (;;) {
        if (leashed && hung_up()) kill(getppid(), SIGKILL);
        for (int i = 0; i < count; i++) look(&watched[i]);
        if (nanosleep(&period, NULL) != 0 || getppid() == 1) _exit(0);
    }
}

void watch_start(int given, char **watch, int leashed) {
    watched = mmap(NULL, MOST_WATCHED * sizeof *watched, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (watched == MAP_FAILED) return;
    for (int i = 0; i < given && count < MOST_WATCHED; i++) {
        char *equals = strchr(watch[i], '=');
        if (equals == NULL) continue;
        char *hash = strchr(equals, '#');
        *equals = 0;
        if (hash != NULL) *hash = 0;
        watched[count].name = watch[i];
        watched[count].key = hash == NULL ? NULL : hash + 1;
        watched[count++].path = equals + 1; /* files that may not be read are left out of the answer */
    }
    if (count == 0 && !leashed) return;
    child = fork();
    if (child == 0) sample_forever(leashed);
}

void watch_reset(void) {
    for (int i = 0; i < count; i++) watched[i].reads = 0;
    for (int i = 0; i < count; i++) look(&watched[i]);
}

void watch_json(void) {
    json_open_list("watched");
    for (int i = 0; i < count; i++) {
        look(&watched[i]);
        if (watched[i].reads == 0) continue;
        json_open_object();
        json_text("name", watched[i].name);
        json_int("least", watched[i].least);
        json_int("most", watched[i].most);
        json_int("reads", watched[i].reads);
        json_close_object();
    }
    json_close_list();
}

void watch_stop(void) {
    if (child <= 0) return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    child = 0;
}
