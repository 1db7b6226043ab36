//! What regions ask of CUDA, on what the tracer recorded of a Llama on an H200.

use std::path::Path;

#[test]
fn of_a_real_trace() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tracer-h200.rft");
    let trace = trace::open(&[file]).unwrap();
    let regions = analysis::region_calls(&trace);
    let paths: Vec<String> = regions.iter().map(|region| region.path.to_string()).collect();
    assert_eq!(paths, [":prefill", ":decode"]);
    let [prefill, decode] = regions.as_slice() else { panic!("{regions:?}") };
    assert_eq!((prefill.launches, decode.launches), (343, 1568));
    assert!(prefill.calls["cuKernelSetAttribute"] > 0 && prefill.calls["cudaLaunchKernel"] > 200);
    // The program calls the driver before it opens a range.
    assert!(!prefill.first_call && prefill.instances == 10 && decode.instances == 157);
    // `prefill` ends with a synchronisation, `decode` does not.
    assert!(
        prefill.synchronised > decode.synchronised.min(1),
        "{} {}",
        prefill.synchronised,
        decode.synchronised
    );
    assert!(prefill.gpu_ns > 0 && prefill.gpu_ns < prefill.host_ns);
}
