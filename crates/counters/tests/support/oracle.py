"""Says all that `ncu_report` knows of a report, as JSON; doubles bit by bit."""

import json
import struct
import sys

import ncu_report


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def metric(metric):
    kind = metric.kind()
    value = None
    if metric.has_value():
        if kind == metric.ValueKind_STRING:
            value = {"text": metric.as_string()}
        elif kind in (metric.ValueKind_FLOAT, metric.ValueKind_DOUBLE):
            value = {"float": bits(metric.as_double())}
        elif kind in (metric.ValueKind_UINT32, metric.ValueKind_UINT64):
            value = {"integer": metric.as_uint64()}
        else:
            value = {"kind": kind}
    return {"value": value, "instances": metric.num_instances(), "unit": metric.unit()}


def payload(range_):
    kind = range_.payload_type()
    if kind in (range_.PayloadType_PAYLOAD_UINT64, range_.PayloadType_PAYLOAD_UINT32):
        return range_.payload_as_uint64()
    if kind in (range_.PayloadType_PAYLOAD_INT64, range_.PayloadType_PAYLOAD_INT32):
        value = range_.payload_as_uint64()
        return value - (1 << 64) if value >> 63 else value
    if kind in (range_.PayloadType_PAYLOAD_DOUBLE, range_.PayloadType_PAYLOAD_FLOAT):
        return {"float": bits(range_.payload_as_double())}
    if kind == range_.PayloadType_PAYLOAD_JSON:
        return range_.payload_as_string()
    return None


def range_(range_):
    return {
        "name": range_.name(),
        "category": range_.category(),
        "color": range_.color(),
        "payload": payload(range_),
    }


def nvtx(state):
    domains = []
    for domain in state.domains() if state is not None else ():
        info = state.domain_by_id(domain)
        domains.append(
            {
                "name": info.name(),
                "pushed": [range_(info.push_pop_range(i)) for i in range(len(info.push_pop_ranges()))],
                "started": [range_(info.start_end_range(i)) for i in range(len(info.start_end_ranges()))],
            }
        )
    return domains


def rule(rule):
    message = rule.rule_message() if rule.has_rule_message() else None
    kinds = {
        ncu_report.MsgType_NONE: "none",
        ncu_report.MsgType_OK: "ok",
        ncu_report.MsgType_OPTIMIZATION: "optimization",
        ncu_report.MsgType_WARNING: "warning",
        ncu_report.MsgType_ERR: "error",
    }
    speedup = rule.speedup_estimation() if rule.has_speedup_estimation() else None
    return {
        "identifier": rule.rule_identifier(),
        "name": rule.name(),
        "section": rule.section_identifier(),
        "message": message and [kinds[message["type"]], message["title"], message["message"]],
        "speedup": speedup and [int(speedup["type"]), bits(speedup["speedup"])],
        "focus": [
            [focus["name"], bits(focus["value"]), int(focus["severity"]), focus["info"]]
            for focus in rule.focus_metrics()
        ],
    }


def result(action):
    return {
        "names": [action.name(base) for base in (1, 0, 2)],
        "workload": action.workload_type(),
        "metrics": {name: metric(action.metric_by_name(name)) for name in action.metric_names()},
        "nvtx": nvtx(action.nvtx_state()),
        "rules": [rule(one) for one in action.rule_results()],
        "sections": [section.identifier() for section in action.sections()],
    }


report = ncu_report.load_report(sys.argv[1])
results = []
for at in range(report.num_ranges()):
    group = report.range_by_idx(at)
    results += [result(group.action_by_idx(i)) for i in range(group.num_actions())]
json.dump(results, sys.stdout)
