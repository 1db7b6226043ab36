// Draws the timeline. Only what is in view is visited, and events narrower than a pixel are
// merged: the color is that of the longest, the paleness shows how much of the pixel is empty.

const laneHeight = 18;
const barHeight = 15;
const headHeight = 22;
const axisHeight = 22;
const colourNames = [
  'k0',
  'k1',
  'k2',
  'k3',
  'k4',
  'k5',
  'k6',
  'copy',
  'fill',
  'graph',
  'r0',
  'r1',
  'r2',
  'r3',
  'operator',
  'call-launch',
  'call-sync',
  'call-copy',
  'call',
];

function timelineColours() {
  const colour = (name) => colourNow(`--t-${name}`);
  const names = ['ink', 'muted', 'line', 'back', 'head', 'on', 'dim', 'many', 'select', 'unseen', 'curve'];
  return { of: colourNames.map(colour), ...Object.fromEntries(names.map((name) => [name, colour(name)])) };
}

/** Rows from top to bottom, with their places. */
function layout(timeline, shown, gutter) {
  const rows = [];
  let y = 0;
  for (const group of timeline.groups) {
    const tracks = group.tracks.filter((track) => shown[track.kind]);
    const curves = shown.curves ? group.curves.filter((curve) => curve.first || shown.more) : [];
    if (!tracks.length && !curves.length) continue;
    rows.push({ y, height: headHeight, group });
    y += headHeight;
    for (const track of tracks) {
      if (!gutter) {
        rows.push({ y, height: 14, caption: track.title });
        y += 14;
      }
      track.lanes.forEach((lane, depth) => {
        rows.push({ y, height: laneHeight, lane, title: depth ? '' : track.title });
        y += laneHeight;
      });
      y += 3;
    }
    for (const curve of curves) {
      if (!gutter) {
        rows.push({ y, height: 14, caption: `${curve.title}, ${scaleText(curve)}` });
        y += 14;
      }
      rows.push({ y, height: curveHeight, lane: curve, title: curve.title, note: scaleText(curve) });
      y += curveHeight + 3;
    }
  }
  return { rows, height: y + 4 };
}

/** Steps of 1, 2 and 5 that leave room for their labels. */
function tickStep(span, room) {
  const least = span / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

/** In the unit of the last one, with the digits that tell neighbors apart. */
function tickText(time, step, last) {
  const [unit, name] = last >= 1e9 ? [1e9, 's'] : last >= 1e6 ? [1e6, 'ms'] : last >= 1e3 ? [1e3, 'us'] : [1, 'ns'];
  return `${(time / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step))))} ${name}`;
}

/** As much of a text as fits, by the width of its letters. */
function fitting(text, width, letter) {
  const most = Math.floor((width - 6) / letter);
  if (text.length <= most) return text;
  return most < 3 ? '' : `${text.slice(0, most - 1)}…`;
}

/** One lane: everything between `view.from` and `view.to`. */
function drawLane(context, picture, lane, y) {
  const { colours, view, left, width, letter, timeline, matched } = picture;
  const { begin, end, what, busy } = lane;
  const { label, colour } = timeline.what;
  const scale = width / (view.to - view.from);
  const offset = left - view.from * scale;
  const right = left + width;
  // Events that are too narrow gather here: their pixel, how much of it is covered, mostly by what.
  let [pixel, covered, longest, fill] = [-1, 0, 0, ''];
  // Pixels of the same look become one rectangle.
  let [run, runTo, runFill, runLevel] = [-1, -1, '', 0];
  const paint = () => {
    if (run < 0) return;
    context.globalAlpha = runLevel / 8;
    context.fillStyle = runFill;
    context.fillRect(run, y, runTo - run, barHeight);
    context.globalAlpha = 1;
    run = -1;
  };
  const gather = () => {
    if (pixel < 0) return;
    const level = Math.min(8, 3 + Math.ceil(covered * 5));
    if (run < 0 || runTo !== pixel || runFill !== fill || runLevel !== level) {
      paint();
      [run, runFill, runLevel] = [pixel, fill, level];
    }
    runTo = pixel + 1;
    [pixel, covered, longest] = [-1, 0, 0];
  };
  for (let at = firstBehind(lane, view.from); at < lane.n && begin[at] < view.to; at += 1) {
    const x = begin[at] * scale + offset;
    const to = end[at] * scale + offset;
    const id = what[at];
    const tone = id < 0 ? colours.many : matched && !matched[id] ? colours.dim : colours.of[colour[id]];
    if (to - x >= 2) {
      gather();
      paint();
      const [from, until] = [Math.max(left, x), Math.min(right, to)];
      context.fillStyle = tone;
      if (id < 0) {
        context.globalAlpha = Math.max(0.15, Math.min(0.9, busy[at] / (end[at] - begin[at])));
        context.fillRect(from, y + 3, until - from, barHeight - 6);
        context.globalAlpha = 1;
        continue;
      }
      context.fillRect(from, y, Math.max(1, until - from - 0.5), barHeight);
      if (until - from > 26) {
        const text = fitting(texts[label[id]], until - from, letter);
        if (text) {
          context.fillStyle = matched && !matched[id] ? colours.muted : colours.on;
          context.fillText(text, from + 3, y + barHeight / 2 + 0.5);
        }
      }
      continue;
    }
    const place = Math.max(left, x) | 0;
    if (place !== pixel) gather();
    const part = id < 0 ? (busy[at] / (end[at] - begin[at] || 1)) * (to - x) : to - x;
    // A match stays visible among its neighbors.
    const weight = matched && id >= 0 && matched[id] ? part + 4 : part;
    if (pixel < 0 || weight > longest) [longest, fill] = [weight, tone];
    pixel = place;
    covered += matched && id >= 0 && matched[id] ? 1 : part;
  }
  gather();
  paint();
}

function drawAxis(context, picture) {
  const { colours, view, left, width, height } = picture;
  const [from, to] = [view.from - view.zero, view.to - view.zero];
  const step = tickStep(to - from, width / 110);
  const scale = width / (to - from);
  context.fillStyle = colours.back;
  context.fillRect(0, 0, left + width, axisHeight);
  context.textAlign = 'left';
  for (let tick = Math.ceil(from / step); tick * step <= to; tick += 1) {
    const x = Math.round(left + (tick * step - from) * scale) + 0.5;
    context.fillStyle = colours.line;
    context.fillRect(x, axisHeight - 6, 1, height);
    const text = tickText(tick * step, step, Math.max(Math.abs(from), Math.abs(to)));
    if (x + 4 + context.measureText(text).width > left + width) continue;
    context.fillStyle = colours.muted;
    context.fillText(text, x + 4, axisHeight / 2);
  }
}

/** Where iterations begin. */
function drawMarks(context, picture) {
  const { colours, view, left, width, height, timeline } = picture;
  const scale = width / (view.to - view.from);
  context.fillStyle = colours.muted;
  for (const mark of timeline.marks ?? []) {
    // With less room they would be a gray field.
    if (mark < view.from || mark > view.to || timeline.span * scale < timeline.marks.length * 6) continue;
    context.fillRect(Math.round(left + (mark - view.from) * scale), axisHeight - 8, 1, height);
  }
}

/** Stretches that were not recorded are shaded. */
function drawUnseen(context, picture) {
  const { colours, view, left, width, height, timeline } = picture;
  if (!timeline.windows.length) return;
  const scale = width / (view.to - view.from);
  context.fillStyle = colours.unseen;
  let until = 0;
  for (const [from, to] of [...timeline.windows, [timeline.span, timeline.span]]) {
    const [x, end] = [until, from].map(
      (time) => left + (Math.min(Math.max(time, view.from), view.to) - view.from) * scale,
    );
    if (end > x) context.fillRect(x, axisHeight, end - x, height);
    until = to;
  }
}

function drawRows(context, picture) {
  const { colours, rows, left, width, height, scroll, hovered, selected, view } = picture;
  const scale = width / (view.to - view.from);
  for (const row of rows) {
    const y = row.y - scroll + axisHeight;
    if (y + row.height < axisHeight || y > height) continue;
    if (row.group) {
      context.fillStyle = colours.head;
      context.fillRect(0, y + 2, left + width, row.height - 4);
      context.fillStyle = colours.ink;
      context.fillText(row.group.title, 6, y + row.height / 2);
      continue;
    }
    if (row.caption) {
      context.fillStyle = colours.muted;
      context.fillText(row.caption, 6, y + row.height / 2);
      continue;
    }
    (row.lane.curve ? drawCurve : drawLane)(context, picture, row.lane, y + 1);
    for (const [piece, line] of [
      [hovered, 1],
      [selected, 2],
    ]) {
      if (!piece || piece.lane !== row.lane) continue;
      const from = Math.max(left, left + (row.lane.begin[piece.at] - view.from) * scale);
      const to = Math.min(left + width, left + (row.lane.end[piece.at] - view.from) * scale);
      if (to < left || from > left + width) continue;
      context.strokeStyle = colours.select;
      context.lineWidth = line;
      context.strokeRect(from - 1, y, Math.max(3, to - from + 2), row.height - 1);
      const lead = line === 2 && row.lane.lead ? row.lane.lead[piece.at] : -1;
      if (lead > 0) drawLead(context, picture, row.lane.begin[piece.at] - lead, from, y + barHeight / 2);
    }
    if (left && row.title) {
      context.fillStyle = colours.back;
      context.fillRect(0, y, left - 4, row.height);
      context.fillStyle = colours.muted;
      const lines = row.note ? [row.title, row.note] : [row.title];
      lines.forEach((line, at) => {
        const middle = y + row.height / 2 + (at - (lines.length - 1) / 2) * 13;
        context.fillText(fitting(line, left - 8, picture.letter), 12, middle);
      });
    }
  }
}

/** From the launch of a kernel to its begin. */
function drawLead(context, picture, launched, to, y) {
  const { colours, view, left, width, height } = picture;
  const x = left + ((launched - view.from) * width) / (view.to - view.from);
  context.strokeStyle = colours.select;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(Math.max(left, x), y);
  context.lineTo(to, y);
  if (x >= left) {
    context.moveTo(x, axisHeight);
    context.lineTo(x, height);
  }
  context.stroke();
  context.setLineDash([]);
}

function drawTimeline(context, picture) {
  context.font = picture.font;
  context.textBaseline = 'middle';
  context.fillStyle = picture.colours.back;
  context.fillRect(0, 0, picture.left + picture.width, picture.height);
  drawAxis(context, picture);
  drawUnseen(context, picture);
  drawMarks(context, picture);
  context.save();
  context.beginPath();
  context.rect(0, axisHeight, picture.left + picture.width, picture.height - axisHeight);
  context.clip();
  drawRows(context, picture);
  context.restore();
}

/** How busy the devices are, or else the threads, over the whole span: one number per pixel. */
function overview(timeline, pixels) {
  const gpu = timeline.lanes.filter((lane) => lane.track.kind === 'gpu');
  const lanes = gpu.length ? gpu : timeline.lanes.filter((lane) => lane.track.lanes[0] === lane);
  const groups = new Set(lanes.map((lane) => lane.track.group)).size;
  const covered = new Float64Array(pixels + 1);
  const scale = pixels / timeline.span;
  for (const lane of lanes) {
    for (let at = 0; at < lane.n; at += 1) {
      const part = lane.what[at] < 0 ? lane.busy[at] / (lane.end[at] - lane.begin[at] || 1) : 1;
      let x = lane.begin[at] * scale;
      const to = lane.end[at] * scale;
      while (x < to) {
        const next = Math.min(to, Math.floor(x) + 1);
        covered[Math.floor(x)] += ((next - x) * part) / groups;
        x = next;
      }
    }
  }
  return covered.map((share) => Math.min(1, share));
}
