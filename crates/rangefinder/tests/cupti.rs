//! Where the tracer looks in CUPTI's records, held against NVIDIA's own headers.

#[path = "../../tracer/src/cupti/at.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is the tracer's")]
mod at;

use std::process::Command;

use crate::support::{Sandbox, tool};

/// Enough of `cuda.h` for the headers to compile.
const CUDA: &str = "#pragma once
#include <stdint.h>
#include <stddef.h>
typedef int CUdevice, CUresult, CUfunc_cache, CUdevice_attribute, CUstreamAttrID, CUgraphNodeType;
typedef struct context *CUcontext; typedef struct stream *CUstream; typedef struct function *CUfunction;
typedef struct module *CUmodule; typedef struct event *CUevent; typedef struct graph *CUgraph;
typedef struct node *CUgraphNode; typedef struct exec *CUgraphExec; typedef struct green *CUgreenCtx;
typedef unsigned long long CUdeviceptr; typedef struct { char bytes[16]; } CUuuid;
typedef struct { int a; } CUaccessPolicyWindow; typedef int CUlaunchAttribute, CUlaunchAttributeValue;
typedef int CUstreamAttrValue;
#define CUDAAPI
";

/// Structures of one version: kernel, copy, synchronisation, graph, overhead.
struct Version {
    package: &'static str,
    include: &'static str,
    structures: [&'static str; 5],
}

const VERSIONS: [Version; 4] = [
    Version {
        package: "cupti-11.8.87",
        include: "nvidia/cuda_cupti/include",
        structures: ["Kernel8", "Memcpy5", "Synchronization", "GraphTrace", "Overhead"],
    },
    Version {
        package: "cupti-12.0.146",
        include: "nvidia/cuda_cupti/include",
        structures: ["Kernel9", "Memcpy5", "Synchronization", "GraphTrace", "Overhead"],
    },
    Version {
        package: "cupti-12.9.79",
        include: "nvidia/cuda_cupti/include",
        structures: ["Kernel9", "Memcpy6", "Synchronization2", "GraphTrace2", "Overhead3"],
    },
    Version {
        package: "cupti-13.0.85",
        include: "nvidia/cu13/include",
        structures: ["Kernel10", "Memcpy6", "Synchronization2", "GraphTrace2", "Overhead3"],
    },
];

#[test]
fn fields_lie_where_nvidia_puts_them() {
    const TEST: &str = "fields_lie_where_nvidia_puts_them";
    for version in VERSIONS {
        let Some(package) = tool(TEST, &format!("python/{}", version.package)) else { return };
        let [kernel, copy, sync, graph, overhead] =
            version.structures.map(|name| format!("CUpti_Activity{name}"));
        let peer = "CUpti_ActivityMemcpyPtoP4";
        let fill = "CUpti_ActivityMemset4";
        let call = "CUpti_ActivityAPI";
        let event = "CUpti_ActivityCudaEvent";
        let expected: Vec<(&str, &str, usize)> = vec![
            (&kernel, "registersPerThread", at::kernel::REGISTERS),
            (&kernel, "start", at::kernel::START),
            (&kernel, "end", at::kernel::END),
            (&kernel, "deviceId", at::kernel::DEVICE),
            (&kernel, "streamId", at::kernel::STREAM),
            (&kernel, "gridX", at::kernel::GRID),
            (&kernel, "gridZ", at::kernel::GRID + 8),
            (&kernel, "blockX", at::kernel::BLOCK),
            (&kernel, "blockZ", at::kernel::BLOCK + 8),
            (&kernel, "staticSharedMemory", at::kernel::STATIC_SHARED),
            (&kernel, "dynamicSharedMemory", at::kernel::DYNAMIC_SHARED),
            (&kernel, "correlationId", at::kernel::CORRELATION),
            (&kernel, "name", at::kernel::NAME),
            (&kernel, "graphNodeId", at::kernel::GRAPH_NODE),
            (&copy, "copyKind", at::transfer::COPY_KIND),
            (&copy, "srcKind", at::transfer::FROM),
            (&copy, "dstKind", at::transfer::TO),
            (&copy, "bytes", at::transfer::BYTES),
            (&copy, "start", at::transfer::START),
            (&copy, "end", at::transfer::END),
            (&copy, "deviceId", at::transfer::DEVICE),
            (&copy, "streamId", at::transfer::STREAM),
            (&copy, "correlationId", at::transfer::CORRELATION),
            (&copy, "graphNodeId", at::transfer::GRAPH_NODE),
            (fill, "bytes", at::transfer::BYTES),
            (fill, "start", at::transfer::START),
            (fill, "end", at::transfer::END),
            (fill, "deviceId", at::transfer::DEVICE),
            (fill, "streamId", at::transfer::STREAM),
            (fill, "correlationId", at::transfer::CORRELATION),
            (fill, "graphNodeId", at::transfer::GRAPH_NODE),
            (peer, "copyKind", at::transfer::COPY_KIND),
            (peer, "srcKind", at::transfer::FROM),
            (peer, "dstKind", at::transfer::TO),
            (peer, "bytes", at::transfer::BYTES),
            (peer, "start", at::transfer::START),
            (peer, "end", at::transfer::END),
            (peer, "deviceId", at::transfer::DEVICE),
            (peer, "streamId", at::transfer::STREAM),
            (peer, "correlationId", at::transfer::PEER_CORRELATION),
            (peer, "graphNodeId", at::transfer::PEER_GRAPH_NODE),
            (call, "cbid", at::call::ID),
            (call, "start", at::call::START),
            (call, "end", at::call::END),
            (call, "threadId", at::call::THREAD),
            (call, "correlationId", at::call::CORRELATION),
            (call, "returnValue", at::call::RESULT),
            (event, "correlationId", at::event::CORRELATION),
            (event, "streamId", at::event::STREAM),
            (event, "eventId", at::event::ID),
            (&sync, "type", at::sync::TYPE),
            (&sync, "start", at::sync::START),
            (&sync, "end", at::sync::END),
            (&sync, "correlationId", at::sync::CORRELATION),
            (&sync, "streamId", at::sync::STREAM),
            (&sync, "cudaEventId", at::sync::EVENT),
            (&graph, "correlationId", at::graph::CORRELATION),
            (&graph, "start", at::graph::START),
            (&graph, "end", at::graph::END),
            (&graph, "deviceId", at::graph::DEVICE),
            (&graph, "graphId", at::graph::ID),
            (&graph, "streamId", at::graph::STREAM),
            ("CUpti_ResourceData", "resourceDescriptor", at::resource::DESCRIPTOR),
            ("CUpti_GraphData", "node", at::graph_data::NODE),
            ("CUpti_GraphData", "originalNode", at::graph_data::ORIGINAL_NODE),
            (&overhead, "overheadKind", at::overhead::KIND),
            (&overhead, "start", at::overhead::START),
            (&overhead, "end", at::overhead::END),
        ];
        let sandbox = Sandbox::new();
        sandbox.write("cuda.h", CUDA);
        sandbox.write("builtin_types.h", "#pragma once\n");
        let checks: String = expected
            .iter()
            .map(|(structure, field, place)| {
                format!(
                    "_Static_assert(offsetof({structure}, {field}) == {place}, \"{structure}.{field}\");\n"
                )
            })
            .collect();
        sandbox.write("check.c", &format!("#include <cuda.h>\n#include \"cupti_activity.h\"\n{checks}"));
        let output = Command::new("cc")
            .args(["-w", "-fsyntax-only", "-I."])
            .arg("-I")
            .arg(package.join(version.include))
            .arg("check.c")
            .current_dir(sandbox.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", version.package);
    }
}
