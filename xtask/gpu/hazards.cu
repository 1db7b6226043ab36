// One of: streams, graph, crash, exit, reset, fork, bad.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <sys/wait.h>
__global__ void tiny(float *o) { o[threadIdx.x] += 1.f; }
__global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }
__global__ void bad(int *p) { *p = 1; }
static float *o;
static void ready() { cudaMalloc(&o, 1 << 20); cudaMemset(o, 0, 1 << 20); cudaDeviceSynchronize(); }
int main(int c, char **v) {
    const char *what = v[1];
    if (!strcmp(what, "two")) {
        for (int i = 0; i < 2; i++) if (!fork()) { char n[8]; sprintf(n, "%d", i); execl(v[0], v[0], "child", n, (char *)0); _exit(9); }
        int s; while (wait(&s) > 0) {}
        return 0;
    }
    ready();
    if (!strcmp(what, "child")) {
        int n = atoi(v[2]) ? 70 : 50;
        nvtxRangePushA(atoi(v[2]) ? "seventy" : "fifty");
        for (int i = 0; i < n; i++) tiny<<<1, 32>>>(o);
        cudaDeviceSynchronize();
        nvtxRangePop();
    } else if (!strcmp(what, "streams")) {
        cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);
        nvtxRangePushA("both");
        for (int i = 0; i < 20; i++) { spin<<<1, 32, 0, a>>>(200000); spin<<<1, 32, 0, b>>>(200000); }
        cudaDeviceSynchronize(); nvtxRangePop();
    } else if (!strcmp(what, "graph")) {
        cudaStream_t s; cudaStreamCreate(&s); cudaGraph_t g; cudaGraphExec_t e;
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); for (int i = 0; i < 5; i++) tiny<<<1, 32, 0, s>>>(o); cudaStreamEndCapture(s, &g);
        cudaGraphInstantiate(&e, g, 0);
        nvtxRangePushA("graph"); for (int i = 0; i < 30; i++) cudaGraphLaunch(e, s); cudaStreamSynchronize(s); nvtxRangePop();
    } else if (!strcmp(what, "crash")) {
        nvtxRangePushA("crash"); for (int i = 0; i < 500; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize(); usleep(1200000);
        spin<<<1, 32>>>(1000000000LL); usleep(20000); abort();
    } else if (!strcmp(what, "exit")) {
        nvtxRangePushA("exit"); for (int i = 0; i < 500; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize(); usleep(1200000);
        tiny<<<1, 32>>>(o); cudaDeviceSynchronize(); _exit(0);
    } else if (!strcmp(what, "reset")) {
        for (int i = 0; i < 500; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize(); cudaDeviceReset();
        ready(); for (int i = 0; i < 300; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize();
    } else if (!strcmp(what, "fork")) {
        for (int i = 0; i < 100; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize();
        if (!fork()) { nvtxRangePushA("in the child"); usleep(1000); nvtxRangePop(); _exit(0); }
        int s; wait(&s);
        for (int i = 0; i < 100; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize();
    } else if (!strcmp(what, "bad")) {
        for (int i = 0; i < 100; i++) tiny<<<1, 32>>>(o); cudaDeviceSynchronize();
        bad<<<1, 1>>>((int *)8); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); return 3;
    }
    return 0;
}
