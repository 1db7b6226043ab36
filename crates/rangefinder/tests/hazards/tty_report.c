/* Says which streams are terminals, the terminal's size, and echoes a line it reads. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(void) {
    struct winsize size = {0};
    ioctl(0, TIOCGWINSZ, &size);
    printf("tty %d%d%d size %dx%d foreground %d\n", isatty(0), isatty(1), isatty(2), size.ws_col, size.ws_row,
           tcgetpgrp(0) == getpgrp());
    printf("name? ");
    fflush(stdout);
    char line[100];
    if (!fgets(line, sizeof line, stdin)) return 3;
    line[strcspn(line, "\n")] = 0;
    printf("hello %s\n", line);
    fprintf(stderr, "on stderr\n");
    return 0;
}
