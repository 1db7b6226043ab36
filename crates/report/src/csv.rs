//! Tables for other programs. Times are nanoseconds.

use analysis::Findings;

pub(crate) fn line(fields: &[String]) -> String {
    let quoted: Vec<String> = fields
        .iter()
        .map(|field| {
            if field.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field.clone()
            }
        })
        .collect();
    format!("{}\n", quoted.join(","))
}

fn optional(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn three(numbers: [u32; 3]) -> String {
    numbers.map(|number| number.to_string()).join("x")
}

pub fn kernels_csv(findings: &Findings) -> String {
    let mut text =
        "name,short_name,family,grid,block,process,device,calls,total_ns,mean_ns,median_ns,min_ns,max_ns,std_ns,share\n"
            .to_owned();
    for row in &findings.kernels {
        let statistics = row.statistics;
        text.push_str(&line(&[
            row.name.clone(),
            row.short_name.clone(),
            row.family.clone(),
            row.shape.map(|shape| three(shape.grid)).unwrap_or_default(),
            row.shape.map(|shape| three(shape.block)).unwrap_or_default(),
            optional(row.place.process),
            optional(row.place.device),
            statistics.calls.to_string(),
            statistics.total_ns.to_string(),
            statistics.mean_ns.round().to_string(),
            statistics.median_ns.round().to_string(),
            statistics.min_ns.to_string(),
            statistics.max_ns.to_string(),
            statistics.std_ns.round().to_string(),
            statistics.share.to_string(),
        ]));
    }
    text
}

pub fn regions_csv(findings: &Findings) -> String {
    let mut text = "path,kind,parent,depth,process,device,instances,open,wall_ns,gpu_inclusive_ns,gpu_exclusive_ns,\
                    gpu_busy_ns,gpu_span_ns,kernels_inclusive,kernels_exclusive,launches,copies,copy_ns,graphs,graph_ns\n"
        .to_owned();
    for row in &findings.regions {
        text.push_str(&line(&[
            row.path.clone(),
            row.kind.to_owned(),
            row.parent.clone().unwrap_or_default(),
            row.depth.to_string(),
            optional(row.place.process),
            optional(row.place.device),
            row.instances.to_string(),
            row.open.to_string(),
            row.wall_ns.to_string(),
            row.gpu_inclusive_ns.to_string(),
            row.gpu_exclusive_ns.to_string(),
            row.gpu_busy_ns.to_string(),
            row.gpu_span_ns.map(|span| span.to_string()).unwrap_or_default(),
            row.kernels_inclusive.to_string(),
            row.kernels_exclusive.to_string(),
            row.launches.to_string(),
            row.copies.to_string(),
            row.copy_ns.to_string(),
            row.graphs.to_string(),
            row.graph_ns.to_string(),
        ]));
    }
    text
}
