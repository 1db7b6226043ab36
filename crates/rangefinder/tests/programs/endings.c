/* `endings WAY`: three finished ranges `step` inside an open `work`, then the end
 * that the argument names. */
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void steps(void) {
    nvtxRangePushA("work");
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("step");
        nvtxRangePop();
    }
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "return";
    if (!strcmp(way, "exec")) {
        if (fork() == 0) execl(argv[0], argv[0], "return", (char *)0);
        int status;
        wait(&status);
    }
    if (!strcmp(way, "daemon")) {
        if (fork() == 0) {
            setsid();
            if (fork() == 0) {
                steps();
                _exit(0);
            }
            _exit(0);
        }
        int status;
        wait(&status);
        usleep(200 * 1000);
        return 0;
    }
    steps();
    if (!strcmp(way, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "_exit")) _exit(4);
    puts("ended");
    return 0;
}
