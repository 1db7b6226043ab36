/* Stands for libcupti where there is no GPU: hands out records of kernels and launches that never
 * happened, the way CUPTI does. What the real one does is tested on a GPU machine (xtask/gpu). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef void (*request_t)(uint8_t **, size_t *, size_t *);
typedef void (*complete_t)(void *, uint32_t, uint8_t *, size_t, size_t);
static request_t request;
static complete_t complete;
static uint8_t *buffer;
static size_t size, used;
static int attached;
static uint32_t correlation;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { KERNEL = 216, CALL = 40 };

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void put32(uint8_t *record, int at, uint32_t value) { memcpy(record + at, &value, 4); }
static void put64(uint8_t *record, int at, uint64_t value) { memcpy(record + at, &value, 8); }

int cuptiActivityRegisterCallbacks(request_t a, complete_t b) { request = a; complete = b; attached = 1; return 0; }
int cuptiActivityEnable(uint32_t kind) { (void)kind; return 0; }
int cuptiActivityDisable(uint32_t kind) { (void)kind; return 0; }
int cuptiActivityGetNumDroppedRecords(void *c, uint32_t s, size_t *n) { (void)c; (void)s; *n = 0; return 0; }
int cuptiGetTimestamp(uint64_t *time) { *time = now(); return 0; }
int cuptiSetThreadIdType(uint32_t type) { return type != 1; }
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on) { (void)id; (void)on; return 0; }
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on) { (void)id; (void)on; return 0; }
int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name) {
    *name = "cudaLaunchKernel_v7000";
    return domain == 2 && id == 211 ? 0 : 1;
}
int cuptiActivityGetNextRecord(uint8_t *start, size_t valid, uint8_t **record) {
    uint32_t kind;
    if (!*record) *record = start;
    else { memcpy(&kind, *record, 4); *record += kind == 10 ? KERNEL : CALL; }
    return (size_t)(*record - start) >= valid ? 12 : 0;
}
static void give_back(void) {
    uint8_t *full = buffer;
    size_t valid = used;
    buffer = 0;
    used = 0;
    if (full && attached) complete(0, 0, full, size, valid);
}
int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    pthread_mutex_lock(&lock);
    give_back();
    pthread_mutex_unlock(&lock);
    return 0;
}
int cuptiFinalize(void) {
    pthread_mutex_lock(&lock);
    attached = 0;
    buffer = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* One client at a time, as of CUPTI 13. */
int cuptiSubscribe(void *a, void *b, void *c) {
    (void)a; (void)b; (void)c;
    printf("subscribe: %s\n", attached ? "refused" : "granted");
    fflush(stdout);
    return attached ? 39 : 0;
}

static void launch_one(void) {
    uint64_t time = now();
    if (buffer && used + KERNEL + CALL > size) give_back();
    if (!buffer) request(&buffer, &size, &(size_t){0});
    if (!buffer) return;
    uint8_t *call = buffer + used, *kernel = call + CALL;
    memset(call, 0, CALL + KERNEL);
    correlation++;
    put32(call, 0, 5); put32(call, 4, 211); put64(call, 8, time); put64(call, 16, time + 500);
    put32(call, 28, syscall(SYS_gettid)); put32(call, 32, correlation);
    put32(kernel, 0, 10); put64(kernel, 16, time + 700); put64(kernel, 24, time + 900);
    put32(kernel, 52, 1); put32(kernel, 56, 1); put32(kernel, 60, 1); put32(kernel, 64, 32); put32(kernel, 68, 1);
    put32(kernel, 72, 1); put32(kernel, 92, correlation); put64(kernel, 104, (uint64_t) "_Z11tiny_kernelPf");
    used += CALL + KERNEL;
}

void fake_launch(int kernels) {
    for (int i = 0; i < kernels; i++) {
        pthread_mutex_lock(&lock);
        if (attached) launch_one();
        pthread_mutex_unlock(&lock);
        usleep(20);
    }
}
