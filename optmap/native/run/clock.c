/* The one clock that everything is timed with: calls through a pointer, between two readings. */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>

typedef void called(void *context);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds per call of calls in a row: `least` of them, then as many again until they took `seconds`. */
double bench_warm(called *f, void *context, long least, double seconds) {
    double start = now(), end = start;
    long done = 0;
    do {
        long more = done ? done : least; /* the clock is hardly read */
        for (long i = 0; i < more; i++) f(context);
        done += more;
        end = now();
    } while (end - start < seconds);
    return (end - start) / (double)done;
}

/* Whether lines can be thrown out of all caches here. */
int bench_can_flush(void) {
#if defined(__x86_64__) || defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

static void flush(void *const *starts, const long *bytes, long count) {
    for (long i = 0; i < count; i++)
        for (uintptr_t line = (uintptr_t)starts[i] & ~(uintptr_t)63; line < (uintptr_t)starts[i] + (uintptr_t)bytes[i];
             line += 64) {
#if defined(__x86_64__)
            __builtin_ia32_clflush((void *)line);
#elif defined(__aarch64__)
            __asm__ volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
        }
    __sync_synchronize();
}

/* Seconds per call, of calls before each of which the operands are thrown out of all caches. */
double bench_cold(called *f, void *context, long calls, void *const *starts, const long *bytes, long count) {
    double sum = 0;
    for (long i = 0; i < calls; i++) {
        flush(starts, bytes, count);
        double start = now();
        f(context);
        sum += now() - start;
    }
    return sum / (double)calls;
}
