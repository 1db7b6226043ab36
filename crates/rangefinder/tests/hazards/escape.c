/* Starts a process that tries to get away, in the way its first argument names,
 * writes that process's id to the file of its second, then sleeps itself.
 * `escape WAY PIDFILE stay|leave` */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void report(const char *path) {
    FILE *file = fopen(path, "a");
    if (!file) _exit(9);
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

static void linger(void) {
    for (;;) sleep(60);
}

int main(int argc, char **argv) {
    if (argc != 4) return 8;
    const char *way = argv[1], *path = argv[2];
    int ready[2];
    if (pipe(ready)) return 7;
    if (fork() == 0) {
        close(ready[0]);
        if (strcmp(way, "setsid") == 0) {
            setsid();
        } else if (strcmp(way, "double-fork") == 0) {
            if (fork() != 0) _exit(0);
            setsid();
            if (fork() != 0) _exit(0);
        } else if (strcmp(way, "ignore-term") == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
        } else if (strcmp(way, "close-all") == 0) {
            setsid();
            close(0);
            close(1);
            close(2);
        }
        report(path);
        if (write(ready[1], "x", 1) != 1) _exit(6);
        close(ready[1]);
        linger();
    }
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) != 1) return 5;
    report(path);
    if (strcmp(argv[3], "leave") == 0) return 0;
    linger();
}
