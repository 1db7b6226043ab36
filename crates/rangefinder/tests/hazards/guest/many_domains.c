/* More domains than can be told apart, and the same string registered again and again. */
#include "guest.h"
int main(void) {
    pairs("first", 1);
    char name[32];
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "domain %d", i);
        nvtxDomainCreateA(name);
    }
    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain 7");
    long before = resident_kb();
    for (int i = 0; i < 500000; i++) nvtxDomainRegisterStringA(domain, "the same");
    printf("%s\n", resident_kb() - before < 10 * 1024 ? "memory as before" : "memory grew");
    return 0;
}
