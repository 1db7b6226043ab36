// A stretch of time that the reader chose: what happened in it, and a link to it.

/** Of the pieces of a lane, what lies between: `see` is told the piece and how long. */
function eachBetween(lane, from, to, see) {
  for (let at = firstBehind(lane, from); at < lane.n && lane.begin[at] < to; at += 1) {
    see(at, Math.min(to, lane.end[at]) - Math.max(from, lane.begin[at]));
  }
}

/** How long any of the lanes has a piece. */
function coveredBetween(lanes, from, to) {
  const parts = [];
  for (const lane of lanes) {
    eachBetween(lane, from, to, (at, long) => {
      // Of pieces that stand for many, only that part was busy.
      const whole = lane.end[at] - lane.begin[at];
      const busy = lane.what[at] < 0 && lane.busy && whole > 0 ? long * Math.min(1, lane.busy[at] / whole) : long;
      const begin = Math.max(from, lane.begin[at]);
      parts.push([begin, begin + busy]);
    });
  }
  parts.sort(([a], [b]) => a - b);
  let [sum, until] = [0, from];
  for (const [begin, end] of parts) {
    if (end > until) sum += end - Math.max(begin, until);
    until = Math.max(until, end);
  }
  return sum;
}

/** What occurs in the lanes, by what it is: how often it begins there, and how long it takes there; the longest first. */
function occursBetween(lanes, from, to) {
  const found = new Map();
  let unseen = 0;
  for (const lane of lanes) {
    eachBetween(lane, from, to, (at, long) => {
      if (lane.what[at] < 0) {
        const whole = lane.end[at] - lane.begin[at];
        unseen += whole > 0 ? Math.round((lane.count[at] * long) / whole) : lane.count[at];
        return;
      }
      const row = found.get(lane.what[at]) ?? { what: lane.what[at], times: 0, long: 0 };
      row.times += lane.begin[at] >= from ? 1 : 0;
      row.long += long;
      found.set(row.what, row);
    });
  }
  return { rows: [...found.values()].sort((a, b) => b.long - a.long), unseen };
}

/** By group: how busy it is, and what runs and which regions are open. */
function spanSummary(timeline, from, to) {
  return timeline.groups.map((group) => {
    const of = (kind) => group.tracks.filter((track) => track.kind === kind).flatMap((track) => track.lanes);
    const gpu = of('gpu');
    return {
      title: group.title,
      busy: gpu.length ? coveredBetween(gpu, from, to) : null,
      gpu: occursBetween(gpu, from, to),
      regions: occursBetween(of('regions'), from, to),
      calls: occursBetween(of('calls'), from, to),
    };
  });
}

/** The summary as elements, for the place below the picture. */
function spanDetails(timeline, from, to, zero) {
  const most = 6;
  const long = to - from;
  const made = [
    element(
      'p',
      { class: 'name' },
      element('b', {}, `${duration(long)} selected`),
      ` from ${duration(from - zero)} to ${duration(to - zero)}`,
    ),
  ];
  const list = element('dl');
  const fact = (name, text) => list.append(element('div', {}, element('dt', {}, name), element('dd', {}, text)));
  const named = ({ what, times, long: time }) =>
    `${texts[timeline.what.label[what]]}: ${duration(time)}${times > 1 ? ` in ${count(times)}` : ''}`;
  for (const { title, busy, gpu, regions, calls } of spanSummary(timeline, from, to)) {
    // Where pieces stand for many, it is not known when in them the GPU was busy.
    const about = gpu.unseen ? 'about ' : '';
    if (busy !== null) fact(title, `${about}busy ${duration(busy)}, ${percent(busy / long)}; idle ${duration(long - busy)}`);
    for (const [name, { rows, unseen }] of Object.entries({ 'on the GPU': gpu, regions, calls })) {
      const parts = rows.slice(0, most).map(named);
      if (rows.length > most) parts.push(`and ${count(rows.length - most)} more`);
      if (unseen) parts.push(`${counted(unseen, 'event')} not shown individually`);
      if (parts.length) fact(`${title}, ${name}`, parts.join('; '));
    }
  }
  made.push(list);
  return made;
}

/** The link to a stretch of time is in the address, so that it can be copied. */
function linkSpan(span) {
  const hash = span ? `#t=${Math.round(span.from)}-${Math.round(span.to)}` : location.href.split('#')[0];
  try {
    history.replaceState(null, '', hash);
  } catch {
    // A page inside another may not change its address.
  }
}

/** The stretch of time that the address names, if it does. */
function linkedSpan(span) {
  const found = /^#t=(\d+)-(\d+)$/.exec(location.hash);
  if (!found) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to && from < span ? { from, to: Math.min(to, span) } : null;
}
