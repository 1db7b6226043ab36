/* A library that is closed, and another one in its place: `reload FIRST SECOND`, which says whether that is the same place.
 * With `INNER` it is such a library; `ROOM` makes its frames differ. */
#ifdef INNER
volatile unsigned long total;

__attribute__((noinline, aligned(256))) void INNER(const volatile int *over) {
    volatile char room[ROOM];
    while (!*over) room[total++ % ROOM] = 1;
}

__attribute__((aligned(256))) void work(const volatile int *over) {
    INNER(over);
    total++;
}
#else
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int over;

static void end(int nothing) { over = nothing; }

int main(int count, char **words) {
    void *places[2] = {0};
    signal(SIGALRM, end);
    for (int at = 0; at + 1 < count && at < 2; at++) {
        void *library = dlopen(words[at + 1], RTLD_NOW);
        void (*work)(const volatile int *) = library ? (void (*)(const volatile int *))dlsym(library, "work") : 0;
        if (!work) return 1;
        places[at] = (void *)work;
        if (at == 1) {
            printf("ready %d\n", places[0] == places[1]);
            fflush(stdout);
        } else {
            alarm(2);
        }
        over = 0;
        work(&over);
        dlclose(library);
    }
    return 0;
}
#endif
