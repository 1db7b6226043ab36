// The timeline's columns, decoded from their digits, and queries on them.

const digits = new Uint8Array(128);
[...'0123456789abcdefghijklmnopqrstuvwxyzXYZWV!#$%()*+,:;=?@[]^{|}~>`'].forEach((digit, value) => {
  digits[digit.charCodeAt(0)] = value;
});

/** Numbers of five-bit digits, the lowest first; a sixth bit says that more follow. */
function readColumn(text, numbers) {
  const column = new Float64Array(numbers);
  let at = 0;
  for (let row = 0; row < numbers; row += 1) {
    let [value, scale, digit] = [0, 1, 0];
    do {
      digit = digits[text.charCodeAt(at)];
      at += 1;
      value += (digit & 31) * scale;
      scale *= 32;
    } while (digit & 32);
    column[row] = value;
  }
  return column;
}

/** One row of the picture: pieces in order, none over another. */
function readLane(raw) {
  const [gap, long, code] = [raw.gap, raw.long, raw.what].map((text) => readColumn(text, raw.n));
  const lane = { n: raw.n, begin: gap, end: long, what: new Int32Array(raw.n) };
  Object.assign(lane, { open: new Set(raw.open), cut: new Set(raw.cut) });
  let [until, ones] = [0, 0];
  for (let at = 0; at < raw.n; at += 1) {
    until += gap[at];
    lane.begin[at] = until;
    until += long[at];
    lane.end[at] = until;
    lane.what[at] = code[at] - 1;
    ones += code[at] > 0 ? 1 : 0;
  }
  // These have values for pieces of one kind only: those that are one event, or those that are many.
  const spread = (text, values, wanted, shift) => {
    if (!text) return null;
    const [packed, column] = [readColumn(text, values), new Float64Array(raw.n)];
    let next = 0;
    for (let at = 0; at < raw.n; at += 1) {
      if (lane.what[at] >= 0 === wanted) {
        column[at] = packed[next] + shift;
        next += 1;
      }
    }
    return column;
  };
  lane.region = spread(raw.region, ones, true, -1);
  lane.lead = spread(raw.lead, ones, true, -1);
  lane.count = spread(raw.count, raw.n - ones, false, 0);
  lane.busy = spread(raw.busy, raw.n - ones, false, 0);
  return lane;
}

function readTimeline(raw) {
  const counts = new Float64Array(raw.what.label.length);
  const lanes = [];
  const groups = raw.groups.map((group) => {
    const made = { title: texts[group.title] };
    made.tracks = group.tracks.map((track) => {
      const row = { title: texts[track.title], kind: track.kind, group: made };
      row.lanes = track.lanes.map((packed) => {
        const lane = Object.assign(readLane(packed), { track: row });
        for (let at = 0; at < lane.n; at += 1) if (lane.what[at] >= 0) counts[lane.what[at]] += 1;
        lanes.push(lane);
        return lane;
      });
      return row;
    });
    made.curves = group.curves.map((curve) => readCurve(curve, made));
    return made;
  });
  return { ...raw, span: Math.max(1, raw.span), groups, lanes, counts };
}

/** The first piece that ends behind `time`. */
function firstBehind(lane, time) {
  let [low, high] = [0, lane.n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The piece at `time`, or the longest that is no further away than `reach`; -1 for none. */
function pieceAt(lane, time, reach) {
  let [best, longest] = [-1, -1];
  for (let at = firstBehind(lane, time - reach); at < lane.n && lane.begin[at] <= time + reach; at += 1) {
    const inside = lane.begin[at] <= time && time < lane.end[at];
    const long = inside ? Infinity : lane.end[at] - lane.begin[at];
    if (long > longest) [best, longest] = [at, long];
  }
  return best;
}

/** The innermost region of a group at a time: number of its what, or -1. */
function regionAt(group, time) {
  for (const track of group.tracks) {
    if (track.kind !== 'regions') continue;
    for (let depth = track.lanes.length - 1; depth >= 0; depth -= 1) {
      const lane = track.lanes[depth];
      const at = firstBehind(lane, time);
      if (at < lane.n && lane.begin[at] <= time && lane.what[at] >= 0) return lane.what[at];
    }
  }
  return -1;
}

/** The facts about one piece: pairs of a name and a text. Times count from `zero`. */
function describe(timeline, lane, at, zero) {
  if (lane.curve) return describeCurve(lane, at);
  const { what } = timeline;
  const long = lane.end[at] - lane.begin[at];
  const place = `${lane.track.group.title}, ${lane.track.title}`;
  if (lane.what[at] < 0) {
    return {
      title: `${counted(lane.count[at], 'event')} not shown individually`,
      full: '',
      facts: [
        ['together', `${duration(lane.busy[at])} in ${duration(long)}`],
        ['begins', duration(lane.begin[at] - zero)],
        ['in', place],
      ],
    };
  }
  const id = lane.what[at];
  const more = lane.open.has(at) ? ', did not end' : lane.cut.has(at) ? ' of it shown' : '';
  const facts = [['takes', duration(long) + more]];
  const region =
    lane.track.kind === 'regions' ? -1 : lane.region ? lane.region[at] : regionAt(lane.track.group, lane.begin[at]);
  if (region >= 0) facts.push(['region', texts[what.full[region]]]);
  else if (lane.track.kind === 'gpu') facts.push(['region', 'outside all ranges']);
  if (lane.lead && lane.lead[at] >= 0) facts.push(['launched', `${duration(lane.lead[at])} before`]);
  facts.push(['begins', duration(lane.begin[at] - zero)]);
  if (what.detail[id]) facts.push(['is', texts[what.detail[id]]]);
  facts.push(['in', place]);
  return { title: texts[what.label[id]], full: texts[what.full[id]], facts };
}
