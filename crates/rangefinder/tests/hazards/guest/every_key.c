/* Takes every key for thread data that there is, and counts them. */
#include "guest.h"
int main(void) {
    pairs("step", 1000);
    pthread_key_t key;
    int keys = 0;
    while (pthread_key_create(&key, 0) == 0) keys++;
    printf("%d keys\n", keys);
    pairs("step", 1000);
    return 0;
}
