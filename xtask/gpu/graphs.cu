// CUDA graphs whose truth is in the names of their kernels: `in_NAME` is captured in a range NAME, `in_none` in no range.
//
//   graphs planted        every way to make a node, each graph launched a known number of times
//   graphs cost BLOCKS    a graph of 300 nodes: how long a replay and a capture take
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            printf("line %d: %s\n", __LINE__, cudaGetErrorString(error));                \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#define KERNEL(name) \
    __global__ void name(float *x) { x[threadIdx.x] += 1.0f; }
KERNEL(in_attn)
KERNEL(in_mlp)
KERNEL(in_forward)
KERNEL(in_none)
KERNEL(in_child)
KERNEL(in_second)
KERNEL(in_grandchild)
KERNEL(in_parent)
KERNEL(in_updated)
KERNEL(in_thread)
KERNEL(in_explicit)
KERNEL(in_body)
KERNEL(in_early)
KERNEL(outside)

static float *data;

struct Range {
    explicit Range(const char *name) { nvtxRangePushA(name); }
    ~Range() { nvtxRangePop(); }
};

// A graph of what is launched.
template <typename Work>
static cudaGraph_t captured(Work work) {
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamDestroy(stream));
    return graph;
}

static cudaGraphExec_t instantiated(cudaGraph_t graph) {
    cudaGraphExec_t ready;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    return ready;
}

static void replay(const char *name, cudaGraphExec_t graph, int times, cudaStream_t stream) {
    Range range(name);
    for (int i = 0; i < times; i++) CHECK(cudaGraphLaunch(graph, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void forward(cudaStream_t stream) {
    Range forward("forward");
    in_forward<<<1, 32, 0, stream>>>(data);
    for (int layer = 0; layer < 4; layer++) {
        char name[16];
        snprintf(name, sizeof name, "layer %d", layer);
        Range range(name);
        {
            Range attn("attn");
            for (int i = 0; i < 3; i++) in_attn<<<1, 32, 0, stream>>>(data);
        }
        Range mlp("mlp");
        for (int i = 0; i < 2; i++) in_mlp<<<1, 32, 0, stream>>>(data);
    }
}

static void planted() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    // Eagerly, and as a graph.
    {
        Range range("eager");
        for (int i = 0; i < 5; i++) forward(stream);
        CHECK(cudaStreamSynchronize(stream));
    }
    cudaGraph_t graph = captured(forward);
    cudaGraphExec_t first = instantiated(graph);
    replay("replay", first, 20, stream);
    // A clone of it.
    cudaGraph_t copy;
    CHECK(cudaGraphClone(&copy, graph));
    replay("cloned", instantiated(copy), 7, stream);
    // With copies and fills, and with a kernel in no range.
    cudaGraphExec_t mixed = instantiated(captured([](cudaStream_t on) {
        in_none<<<1, 32, 0, on>>>(data);
        Range range("moving");
        CHECK(cudaMemsetAsync(data + 1024, 0, 4096, on));
        CHECK(cudaMemcpyAsync(data + 4096, data, 4096, cudaMemcpyDeviceToDevice, on));
    }));
    replay("mixed", mixed, 6, stream);
    // Graphs in a graph, one of them with another inside.
    cudaGraph_t child = captured([](cudaStream_t on) {
        Range range("child");
        for (int i = 0; i < 2; i++) in_child<<<1, 32, 0, on>>>(data);
    });
    cudaGraph_t second = captured([](cudaStream_t on) {
        Range range("second");
        for (int i = 0; i < 3; i++) in_second<<<1, 32, 0, on>>>(data);
    });
    cudaGraph_t grandchild = captured([](cudaStream_t on) {
        Range range("grandchild");
        for (int i = 0; i < 4; i++) in_grandchild<<<1, 32, 0, on>>>(data);
    });
    cudaGraph_t parent = captured([](cudaStream_t on) {
        Range range("parent");
        in_parent<<<1, 32, 0, on>>>(data);
    });
    cudaGraphNode_t node;
    CHECK(cudaGraphAddChildGraphNode(&node, second, nullptr, 0, grandchild));
    CHECK(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, second));
    CHECK(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
    replay("nested", instantiated(parent), 5, stream);
    // Made for one range, updated to what another captured.
    auto three = [](const char *name, auto kernel) {
        return captured([=](cudaStream_t on) {
            Range range(name);
            for (int i = 0; i < 3; i++) kernel<<<1, 32, 0, on>>>(data);
        });
    };
    cudaGraphExec_t updated = instantiated(three("stale", in_none));
    replay("before the update", updated, 4, stream);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(updated, three("updated", in_updated), &info));
    replay("after the update", updated, 4, stream);
    // By another thread, which has a range of its own.
    cudaGraph_t by_thread = nullptr;
    std::thread([&] { by_thread = three("thread", in_thread); }).join();
    replay("of a thread", instantiated(by_thread), 3, stream);
    // Node by node.
    cudaGraph_t explicit_graph;
    CHECK(cudaGraphCreate(&explicit_graph, 0));
    {
        Range range("explicit");
        void *arguments[] = {&data};
        cudaKernelNodeParams parameters = {};
        parameters.func = (void *)in_explicit;
        parameters.gridDim = dim3(1);
        parameters.blockDim = dim3(32);
        parameters.kernelParams = arguments;
        CHECK(cudaGraphAddKernelNode(&node, explicit_graph, nullptr, 0, &parameters));
    }
    replay("node by node", instantiated(explicit_graph), 3, stream);
#if CUDART_VERSION >= 12040
    // A body that runs if a condition holds, as it does.
    cudaGraph_t conditional;
    CHECK(cudaGraphCreate(&conditional, 0));
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, conditional, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams parameters = {cudaGraphNodeTypeConditional};
    parameters.conditional.handle = handle;
    parameters.conditional.type = cudaGraphCondTypeIf;
    parameters.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&node, conditional, nullptr, nullptr, 0, &parameters));
#else
    CHECK(cudaGraphAddNode(&node, conditional, nullptr, 0, &parameters));
#endif
    cudaStream_t on;
    CHECK(cudaStreamCreate(&on));
    {
        Range range("body");
        cudaGraph_t body = parameters.conditional.phGraph_out[0];
        CHECK(cudaStreamBeginCaptureToGraph(on, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < 2; i++) in_body<<<1, 32, 0, on>>>(data);
        CHECK(cudaStreamEndCapture(on, nullptr));
    }
    replay("conditional", instantiated(conditional), 3, stream);
#endif
    outside<<<1, 32>>>(data);
    CHECK(cudaDeviceSynchronize());
    puts("planted");
}

static double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static void cost(int blocks) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    auto nodes = [](cudaStream_t on) {
        Range range("capture");
        for (int i = 0; i < 300; i++) in_none<<<1, 32, 0, on>>>(data);
    };
    std::vector<double> replays, captures, instantiations;
    cudaGraphExec_t ready = instantiated(captured(nodes));
    for (int block = 0; block < blocks; block++) {
        double begin = now();
        cudaGraph_t graph = captured(nodes);
        double between = now();
        cudaGraphExec_t other = instantiated(graph);
        captures.push_back(between - begin);
        instantiations.push_back(now() - between);
        CHECK(cudaGraphExecDestroy(other));
        CHECK(cudaGraphDestroy(graph));
        std::vector<double> of_block;
        for (int i = 0; i < 50; i++) {
            begin = now();
            CHECK(cudaGraphLaunch(ready, stream));
            CHECK(cudaStreamSynchronize(stream));
            of_block.push_back(now() - begin);
        }
        replays.push_back(median(of_block));
    }
    // How it goes on: the first launches of a graph may be recorded in another way than later ones.
    printf("{\"replays_us\": [");
    for (size_t block = 0; block < replays.size(); block++) printf("%s%.1f", block ? ", " : "", replays[block]);
    printf("], \"replay_us\": %.2f, \"capture_us\": %.2f, \"instantiate_us\": %.2f}\n", median(replays), median(captures), median(instantiations));
}

int main(int count, char **words) {
    CHECK(cudaMalloc(&data, 1 << 20));
    if (count > 2 && !strcmp(words[1], "cost")) {
        cost(atoi(words[2]));
    } else {
        planted();
    }
    return 0;
}
