/* A program whose standard streams are closed opens files that get the numbers 0, 1 and 2. */
#include "guest.h"
int main(void) {
    close(0), close(1), close(2);
    int files[3];
    const char *names[] = {"zero.txt", "one.txt", "two.txt"};
    pairs("before", 1000);
    for (int i = 0; i < 3; i++) files[i] = open(names[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
    pairs("after", 200000);
    new_names("name", 2000);
    for (int i = 0; i < 3; i++) dprintf(files[i], "%s is %d\n", names[i], files[i]);
    return files[0] == 0 && files[1] == 1 && files[2] == 2 ? 0 : 1;
}
