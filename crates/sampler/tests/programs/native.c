/* Spends its time in one function: `native spin`; in a library that it calls: `native math`; waiting in a system call:
 * `native wait`, or in one deep inside: `native sleep`; in another thread: `native thread`. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

volatile unsigned long total;
volatile double sum;

__attribute__((noinline)) void spin(void) {
    for (unsigned long number = 0; number < 50000000; number++) total += number;
}

__attribute__((noinline)) void outer(void) {
    for (;;) {
        spin();
        total++;
    }
}

__attribute__((noinline)) double waves(int count) {
    double found = 0;
    for (int number = 1; number < count; number++) found += sin(number * 1e3) + pow(number, 0.3);
    return found;
}

__attribute__((noinline)) void sums(void) {
    for (;;) sum += waves(100000);
}

__attribute__((noinline)) void nap(void) {
    struct timespec span = {.tv_nsec = 700000000};
    nanosleep(&span, NULL);
    total++;
}

__attribute__((noinline)) void naps(void) {
    for (;;) {
        nap();
        total++;
    }
}

static void *apart(void *nothing) {
    outer();
    return nothing;
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    if (strcmp(word, "spin") == 0) outer();
    if (strcmp(word, "math") == 0) sums();
    if (strcmp(word, "sleep") == 0) naps();
    if (strcmp(word, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, apart, NULL);
    }
    char byte;
    return (int)read(0, &byte, 1);
}
