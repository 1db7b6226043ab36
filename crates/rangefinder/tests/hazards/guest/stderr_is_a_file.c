/* Descriptor 2 is a data file, and the trace cannot grow: whoever complains on stderr writes into
 * the data. */
#include "guest.h"
int main(void) {
    close(2);
    int file = open("data.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    limit(RLIMIT_FSIZE, 256 << 10);
    pairs("step", 100000);
    return write(file, "data\n", 5) == 5 && file == 2 ? 0 : 1;
}
