/* Writes down what is flushed to the disk, in order: one path a line, into $FLUSHED. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int descriptor) {
    static int (*real)(int);
    char link[64], path[4096], line[4200];
    const char *log = getenv("FLUSHED");
    if (!real)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (log && length > 0) {
        path[length] = 0;
        int size = snprintf(line, sizeof line, "%s\n", path);
        int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (file >= 0 && write(file, line, size) != size)
            abort();
        close(file);
    }
    return real(descriptor);
}
