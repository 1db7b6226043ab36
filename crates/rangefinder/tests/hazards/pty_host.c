/* Runs a program on a terminal of its own: what is written to our stdin is typed
 * there, what appears there comes out of our stdout. Ends with its exit code. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 99;
    struct winsize size = {.ws_row = 33, .ws_col = 111};
    int master;
    pid_t child = forkpty(&master, 0, 0, &size);
    if (child < 0) return 98;
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(97);
    }
    struct pollfd watched[2] = {{.fd = master, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    char buffer[4096];
    for (;;) {
        if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
        if (watched[0].revents) {
            ssize_t got = read(master, buffer, sizeof buffer);
            if (got <= 0) break;
            if (write(1, buffer, (size_t)got) != got) break;
        }
        if (watched[1].revents) {
            ssize_t got = read(0, buffer, sizeof buffer);
            if (got <= 0) watched[1].fd = -1;
            else if (write(master, buffer, (size_t)got) != got) break;
        }
    }
    int status;
    if (waitpid(child, &status, 0) != child) return 96;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
