/* Spends its time in one function: `native spin`, or waits in a system call: `native wait`. */
#include <string.h>
#include <unistd.h>

volatile unsigned long total;

__attribute__((noinline)) void spin(void) {
    for (unsigned long number = 0; number < 50000000; number++) total += number;
}

__attribute__((noinline)) void outer(void) {
    for (;;) {
        spin();
        total++;
    }
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "spin") == 0) outer();
    char byte;
    return (int)read(0, &byte, 1);
}
