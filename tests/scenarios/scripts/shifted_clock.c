/* Another time of day for a process, by LD_PRELOAD: CLOCK_SHIFT seconds later than it is.
   Only the clock on the wall: what waits by the monotonic one goes on as before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t shift(void) {
    const char *told = getenv("CLOCK_SHIFT");
    return told ? (time_t)atoll(told) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec told;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &told);
    now->tv_sec = told.tv_sec;
    now->tv_usec = told.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec told;
    clock_gettime(CLOCK_REALTIME, &told);
    if (now) *now = told.tv_sec;
    return told.tv_sec;
}
