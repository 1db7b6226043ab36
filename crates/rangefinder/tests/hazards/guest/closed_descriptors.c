/* Closes every descriptor but the standard ones and opens a checkpoint, which gets the number of
 * whatever a guest had open. */
#include "guest.h"
int main(void) {
    nvtxRangePushA("start");
    nvtxRangePop();
    for (int number = 3; number < 1024; number++) close(number);
    int file = checkpoint("checkpoint.bin", 16 << 20);
    printf("descriptor %d\n", file);
    pairs("step", 200000);
    say_checkpoint(file, 16 << 20);
    return 0;
}
