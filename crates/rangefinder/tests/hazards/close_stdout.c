/* Closes stdout and stderr early, goes on working, and leaves a file behind. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 2 || write(1, "before\n", 7) != 7) return 1;
    close(1);
    close(2);
    usleep(200 * 1000);
    FILE *file = fopen(argv[1], "w");
    if (!file) return 2;
    fputs("done\n", file);
    fclose(file);
    return 0;
}
