// Twenty rounds of launches that differ in kernel, grid, block or shared memory.
#include <cstdio>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

__global__ void a(float *out) { out[threadIdx.x] += 1.f; }
__global__ void b(float *out) { out[threadIdx.x] += 2.f; }
__global__ void c(float *out) { out[threadIdx.x] += 3.f; }
__global__ void d(float *out) { out[threadIdx.x] += 4.f; }

int main() {
  float *out;
  if (cudaMalloc(&out, 1 << 20)) return 1;
  for (int round = 0; round < 20; round++) {
    char name[16];
    snprintf(name, sizeof name, "i%d", round);
    nvtxRangePushA(round % 2 ? "odd" : "even");
    nvtxRangePushA(name);
    a<<<1, 32>>>(out);
    b<<<1, 32>>>(out);
    a<<<2, 32>>>(out);
    a<<<1, 64>>>(out);
    a<<<1, 32, 1024>>>(out);
    c<<<1, 32>>>(out);
    nvtxRangePop();
    nvtxRangePop();
  }
  // As some programs do: after their fourth step nothing more is to be recorded.
  for (int round = 0; round < 20; round++) {
    d<<<1, 32>>>(out);
    if (round == 3) cudaProfilerStop();
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
