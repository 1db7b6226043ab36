/* Prints so many MiB to stdout, as fast as it is taken. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 16];

int main(int argc, char **argv) {
    long mib = argc > 1 ? atol(argv[1]) : 1;
    memset(block, 'x', sizeof block);
    for (size_t at = 63; at < sizeof block; at += 64) block[at] = '\n';
    for (long left = mib * 16; left > 0; left--) {
        size_t done = 0;
        while (done < sizeof block) {
            ssize_t wrote = write(1, block + done, sizeof block - done);
            if (wrote <= 0) return 1;
            done += (size_t)wrote;
        }
    }
    return 0;
}
