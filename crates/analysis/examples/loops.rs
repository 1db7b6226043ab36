fn main() {
    for path in std::env::args().skip(1) {
        let mut trace = trace::open_each(&[path.clone().into()]).trace;
        trace.fold_names();
        let show = |trace: &trace::Trace| {
            let findings = analysis::analyze(trace, &analysis::Options::default());
            for l in &findings.loops {
                println!(
                    "    {:?} {:?} n={} warm={} start_up={:.1}ms p50={:.3}ms begin={:.1} end={:.1}",
                    l.source,
                    l.region,
                    l.iterations,
                    l.warm_up,
                    l.start_up_ns as f64 / 1e6,
                    l.period_ns.map_or(0.0, |p| p.p50 as f64 / 1e6),
                    l.begin_ns as f64 / 1e6,
                    l.end_ns as f64 / 1e6
                );
            }
            if findings.loops.is_empty() {
                println!("    none");
            }
        };
        println!("{path} {} activities", trace.activities.len());
        show(&trace);
        let mut bare = trace.clone();
        bare.ranges = Default::default();
        show(&bare);
    }
}
