/* Becomes a daemon: forks twice, a session of its own, every descriptor closed. */
#include "guest.h"
int main(void) {
    pairs("start", 10);
    int done[2];
    if (pipe(done)) return 1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork()) _exit(0);
        int keep = dup2(done[1], 200);
        for (int number = 0; number < 200; number++) close(number);
        open("/dev/null", O_RDWR), dup(0), dup(0);
        int file = checkpoint("daemon.bin", 1 << 20);
        pairs("daemon", 100000);
        int written = (int)write(keep, file == 3 ? "3" : "?", 1);
        _exit(written != 1);
    }
    close(done[1]);
    wait_for(child);
    char which = 0;
    if (read(done[0], &which, 1) != 1) which = '-';
    printf("daemon had %c\n", which);
    int file = open("daemon.bin", O_RDONLY);
    say_checkpoint(file, 1 << 20);
    return 0;
}
