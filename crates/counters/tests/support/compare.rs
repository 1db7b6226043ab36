//! Our report against what `ncu_report` says of the same file: everything, exactly.

use counters::{
    Measured, MessageKind, NvtxRange, Payload, Report, Rule, Severity, SpeedupKind, Subject, Value,
};
use serde_json::{Value as Json, json};

/// How many metrics were compared.
pub fn same(report: &Report, theirs: &[Json]) -> usize {
    assert_eq!(report.results.len(), theirs.len(), "results");
    let mut compared = 0;
    for (at, (ours, theirs)) in report.results.iter().zip(theirs).enumerate() {
        compared += metrics(at, report, ours, &theirs["metrics"]);
        // ncu prints names without these casts, its library does not.
        let theirs_names = theirs["names"].to_string().replace("<(int)", "<").replace(", (int)", ", ");
        assert_eq!(names(ours).to_string(), theirs_names, "names of result {at}");
        assert_eq!(json!(workload(ours)), theirs["workload"], "workload of result {at}");
        let sections: Vec<&str> = ours.sections.iter().map(|section| section.identifier.as_str()).collect();
        assert_eq!(json!(sections), theirs["sections"], "sections of result {at}");
        assert_eq!(domains(ours, &theirs["nvtx"]), theirs["nvtx"], "ranges of result {at}");
        assert_eq!(json!(ours.rules.iter().map(rule).collect::<Vec<_>>()), merged(&theirs["rules"]), "{at}");
    }
    compared
}

fn metrics(at: usize, report: &Report, ours: &Measured, theirs: &Json) -> usize {
    let theirs = theirs.as_object().unwrap();
    assert_eq!(ours.metrics.len(), theirs.len(), "metrics of result {at}");
    for metric in &ours.metrics {
        let name = report.metric_names.name(metric.name);
        let said = &theirs[name];
        let value = match &metric.value {
            None => Json::Null,
            Some(Value::Text(text)) => json!({ "text": text }),
            Some(Value::Float(value)) => json!({ "float": value.to_bits() }),
            Some(Value::Integer(value)) => json!({ "integer": value }),
        };
        assert_eq!(value, said["value"], "{name} of result {at}");
        assert_eq!(json!(metric.instances), said["instances"], "instances of {name} of result {at}");
    }
    ours.metrics.len()
}

fn names(ours: &Measured) -> Json {
    match &ours.subject {
        Subject::Kernel(kernel) => json!([kernel.name, kernel.short_name, kernel.mangled]),
        Subject::CommandList { name, .. } => json!([name, name, name]),
        subject => json!([subject.kind(), subject.kind(), subject.kind()]),
    }
}

fn workload(ours: &Measured) -> u32 {
    match ours.subject {
        Subject::Kernel(_) => 0,
        Subject::Range => 1,
        Subject::CommandList { .. } => 2,
        Subject::Graph { .. } => 3,
    }
}

/// In the order of their domains, which our model has no need to keep.
fn domains(ours: &Measured, theirs: &Json) -> Json {
    let domain = |theirs: &Json| {
        let shown = theirs["name"].as_str().unwrap();
        let name = if shown == "<default domain>" { "" } else { shown };
        let threads = ours.nvtx.threads.iter().filter(|thread| Some(thread.id) == ours.thread);
        let stacks = threads.flat_map(|thread| &thread.stacks).filter(|(domain, _)| domain == name);
        let pushed: Vec<Json> = stacks.flat_map(|(_, stack)| stack).map(range).collect();
        let started = ours.nvtx.started.iter().filter(|(domain, _)| domain == name);
        let started: Vec<Json> = started.map(|(_, started)| range(started)).collect();
        json!({ "name": shown, "pushed": pushed, "started": started })
    };
    theirs.as_array().unwrap().iter().map(domain).collect()
}

fn range(range: &NvtxRange) -> Json {
    let payload = match &range.payload {
        None => Json::Null,
        Some(Payload::Unsigned(value)) => json!(value),
        Some(Payload::Signed(value)) => json!(value),
        Some(Payload::Float(value)) => json!({ "float": value.to_bits() }),
        Some(Payload::Text(text)) => json!(text),
    };
    json!({
        "name": range.name,
        "category": range.category.unwrap_or(0),
        "color": range.color.unwrap_or(0),
        "payload": payload,
    })
}

fn rule(rule: &Rule) -> Json {
    let messages = rule.messages.iter().map(|message| {
        let kind = match message.kind {
            MessageKind::None => "none",
            MessageKind::Ok => "ok",
            MessageKind::Optimization => "optimization",
            MessageKind::Warning => "warning",
            MessageKind::Error => "error",
        };
        json!([kind, message.title.as_deref().unwrap_or_default(), message.text])
    });
    let focus = rule.focus.iter().map(|focus| {
        let severity = match focus.severity {
            Severity::Default => 0,
            Severity::Low => 1,
            Severity::High => 2,
        };
        json!([focus.name, focus.value.to_bits(), severity, focus.info])
    });
    let speedup = rule.speedup.map(|speedup| {
        let kind = match speedup.kind {
            SpeedupKind::Unknown => 0,
            SpeedupKind::Local => 1,
            SpeedupKind::Global => 2,
        };
        json!([kind, speedup.percent.to_bits()])
    });
    json!({
        "identifier": rule.identifier,
        "name": rule.name,
        "section": rule.section.as_deref().unwrap_or_default(),
        "messages": messages.collect::<Vec<_>>(),
        "speedup": speedup,
        "focus": focus.collect::<Vec<_>>(),
    })
}

/// They list a rule once for each thing it says; we list it once.
fn merged(theirs: &Json) -> Json {
    let mut rules: Vec<Json> = Vec::new();
    for said in theirs.as_array().unwrap() {
        let last = rules.last_mut().filter(|last| last["identifier"] == said["identifier"]);
        let rule = match last {
            Some(rule) => rule,
            None => {
                rules.push(json!({
                    "identifier": said["identifier"],
                    "name": said["name"],
                    "section": said["section"],
                    "messages": [],
                    "speedup": null,
                    "focus": [],
                }));
                rules.last_mut().unwrap()
            }
        };
        if !said["message"].is_null() {
            rule["messages"].as_array_mut().unwrap().push(said["message"].clone());
        }
        if !said["speedup"].is_null() {
            rule["speedup"] = said["speedup"].clone();
        }
        rule["focus"].as_array_mut().unwrap().extend(said["focus"].as_array().unwrap().clone());
    }
    json!(rules)
}
