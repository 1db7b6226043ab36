/* Stands for libcupti where there is no GPU: hands out records of kernels and launches that never
 * happened, the way CUPTI does. What the real one does is tested on a GPU machine (xtask/gpu). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <stdlib.h>
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

typedef void (*callback_t)(void *, uint32_t, uint32_t, const void *);
static callback_t callback;

/* One client at a time, as of CUPTI 13. The tracer has a callback, the program has none. */
int cuptiSubscribe(void **subscriber, callback_t on, void *data) {
    (void)data;
    if (on) {
        *subscriber = &callback;
        callback = on;
        return 0;
    }
    printf("subscribe: %s\n", attached || callback ? "refused" : "granted");
    fflush(stdout);
    return attached || callback ? 39 : 0;
}
int cuptiSubscribe_v2(void **subscriber, callback_t on, void *data, void *parameters) {
    (void)parameters;
    int refused = cuptiSubscribe(subscriber, on, data);
    printf("the second version\n");
    return refused;
}
int cuptiUnsubscribe(void *subscriber) { (void)subscriber; callback = 0; return 0; }
int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id) {
    (void)on; (void)subscriber; (void)id;
    return domain != 3;
}
/* The address of a node is its id: the graph, and its place there. */
int cuptiGetGraphNodeId(void *node, uint64_t *id) { *id = (uint64_t)node; return 0; }

static void node_made(uint32_t what, uint64_t node, uint64_t original) {
    uint64_t graph[7] = {0, 0, node, original, 0, 0, 0};
    void *resource[3] = {0, 0, graph};
    if (callback) callback(0, 3, what, resource);
}

static uint64_t nodes;
static const uint64_t CAPTURED = 1ull << 32, READY = 2ull << 32;

void fake_capture(int count) {
    while (count--) node_made(13, CAPTURED + nodes++, 0);
}
void fake_instantiate(int unused) {
    (void)unused;
    node_made(17, 0, 0);
    for (uint64_t node = 0; node < nodes; node++) {
        node_made(13, READY + node, 0);
        node_made(20, READY + node, CAPTURED + node);
    }
    node_made(18, 0, 0);
}

/* One of ten is a collective, if that is asked for. */
static const char *name(void) {
    int collective = getenv("FAKE_COLLECTIVES") && correlation % 10 == 0;
    return collective ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : "_Z11tiny_kernelPf";
}

/* A call and what it starts: a kernel, or one for each node. */
static void launch(uint64_t first, uint64_t count) {
    uint64_t time = now();
    if (buffer && used + count * KERNEL + CALL > size) give_back();
    if (!buffer) request(&buffer, &size, &(size_t){0});
    if (!buffer) return;
    uint8_t *call = buffer + used, *kernel = call + CALL;
    memset(call, 0, CALL + count * KERNEL);
    correlation++;
    put32(call, 0, 5); put32(call, 4, 211); put64(call, 8, time); put64(call, 16, time + 500);
    put32(call, 28, syscall(SYS_gettid)); put32(call, 32, correlation);
    for (uint64_t node = 0; node < count; node++, kernel += KERNEL, time += 300) {
        put32(kernel, 0, 10); put64(kernel, 16, time + 700); put64(kernel, 24, time + 900);
        put32(kernel, 52, 1); put32(kernel, 56, 1); put32(kernel, 60, 1); put32(kernel, 64, 32); put32(kernel, 68, 1);
        put32(kernel, 72, 1); put32(kernel, 92, correlation); put64(kernel, 104, (uint64_t) name());
        put64(kernel, 144, first ? first + node : 0);
    }
    used += CALL + count * KERNEL;
}

void fake_replay(int times) {
    while (times--) {
        pthread_mutex_lock(&lock);
        if (attached) launch(READY, nodes);
        pthread_mutex_unlock(&lock);
        usleep(20);
    }
}

void fake_launch(int kernels) {
    for (int i = 0; i < kernels; i++) {
        pthread_mutex_lock(&lock);
        if (attached) launch(0, 1);
        pthread_mutex_unlock(&lock);
        usleep(20);
    }
}
