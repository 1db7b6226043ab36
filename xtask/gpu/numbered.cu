// Training as a C++ program does it: a range for each step, with its number in its name; a loss that is looked at every
// tenth step, and a pass over other data every twentieth.
#include <cstdio>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

__global__ void forward(float *data, int times) {
  float value = data[blockIdx.x];
  for (int i = 0; i < times; i++) value = value * 0.999f + 1.f;
  data[blockIdx.x] = value;
}
__global__ void backward(float *data, int times) {
  float value = data[blockIdx.x];
  for (int i = 0; i < times; i++) value = value * 1.001f - 1.f;
  data[blockIdx.x] = value;
}
__global__ void update(float *data) { data[blockIdx.x] *= 0.5f; }

int main() {
  float *data, loss;
  if (cudaMalloc(&data, 1 << 20)) return 1;
  for (int step = 0; step < 80; step++) {
    char name[32];
    if (step % 20 == 10) {
      nvtxRangePushA("validation");
      for (int batch = 0; batch < 5; batch++)
        for (int layer = 0; layer < 4; layer++) forward<<<132 + layer, 256>>>(data, 40000);
      cudaMemcpy(&loss, data, sizeof loss, cudaMemcpyDeviceToHost);
      nvtxRangePop();
    }
    snprintf(name, sizeof name, "Train step %d", step);
    nvtxRangePushA(name);
    for (int layer = 0; layer < 4; layer++) forward<<<132 + layer, 256>>>(data, 40000);
    for (int layer = 3; layer >= 0; layer--) backward<<<132 + layer, 256>>>(data, 60000);
    update<<<132, 256>>>(data);
    if (step % 10 == 0) cudaMemcpy(&loss, data, sizeof loss, cudaMemcpyDeviceToHost);
    nvtxRangePop();
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
