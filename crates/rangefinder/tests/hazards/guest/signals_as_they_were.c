/* Says which signals are blocked, ignored, caught and pending after ranges. */
#include "guest.h"
int main(void) {
    signal(SIGHUP, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    pairs("step", 100000);
    new_names("name", 1000);
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4)) fputs(line, stdout);
        if (!strncmp(line, "ShdPnd", 6) || !strncmp(line, "Threads", 7)) fputs(line, stdout);
    }
    return 0;
}
