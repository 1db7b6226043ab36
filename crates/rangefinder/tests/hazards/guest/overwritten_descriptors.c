/* Puts a file of its own onto every low number, again and again. */
#include "guest.h"
int main(void) {
    int file = checkpoint("checkpoint.bin", 1 << 20);
    for (int round = 0; round < 200; round++) {
        for (int number = 3; number < 32; number++) {
            if (number != file) dup2(file, number);
        }
        pairs("step", 500);
        new_names("round", round);
    }
    say_checkpoint(file, 1 << 20);
    return 0;
}
