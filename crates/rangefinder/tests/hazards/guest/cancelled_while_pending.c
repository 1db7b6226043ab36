/* A thread whose cancellation is pending opens ranges with new names; it must be cancelled where
 * it asks for it, and nowhere else. */
#include "guest.h"
static void cleanup(void *unused) { puts("cleaned up"); (void)unused; }
static void *work(void *unused) {
    pthread_cleanup_push(cleanup, 0);
    pthread_cancel(pthread_self());
    new_names("pending", 5000);
    pairs("pending", 100000);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("pending");
    nvtxDomainRegisterStringA(domain, "pending");
    puts("worked");
    fflush(stdout);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    return 0;
}
