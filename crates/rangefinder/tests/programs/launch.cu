/* A kernel that does nothing; its number of blocks tells one launch from another. */
#include <cstdio>
#include <cstdlib>

__global__ void marker() {}

extern "C" void launch(int blocks) {
    marker<<<blocks, 1>>>();
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        fprintf(stderr, "launch: %s\n", cudaGetErrorString(error));
        exit(95);
    }
}
