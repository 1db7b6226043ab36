// Values over time below the lanes of a device: decoded, drawn and told.

const curveHeight = 36;

/** A curve is read like a lane: its points are pieces that stand for no event. */
function readCurve(raw, group) {
  const column = (text) => (text ? readColumn(text, raw.n) : new Float64Array(raw.n));
  const [begin, end, mean, low, high] = [raw.gap, raw.long, raw.mean, raw.low, raw.high].map(column);
  let [until, top] = [0, raw.unit === '%' ? 100 : 0];
  for (let at = 0; at < raw.n; at += 1) {
    begin[at] = until += begin[at];
    end[at] = until += end[at];
    [low[at], high[at]] = [(mean[at] - low[at]) * raw.step, (mean[at] + high[at]) * raw.step];
    mean[at] *= raw.step;
    top = Math.max(top, high[at]);
  }
  const { n, unit, first, lost } = raw;
  const values = { mean, low, high, top: top || 1, merged: Boolean(raw.low) };
  const what = new Int32Array(n).fill(-1);
  return { curve: true, title: texts[raw.title], group, n, unit, first, lost, begin, end, what, ...values };
}

function valueText(value, unit) {
  if (unit.startsWith('B')) return bytes(value, unit);
  return unit ? `${number(value)} ${unit}` : number(value);
}

/** What a curve reaches from top to bottom. */
function scaleText({ top, unit }) {
  return `0 to ${valueText(top, unit)}`;
}

function describeCurve(curve, at) {
  const value = (column) => valueText(column[at], curve.unit);
  const facts = [['begins', duration(curve.begin[at])]];
  facts.push(['takes', duration(curve.end[at] - curve.begin[at])]);
  if (curve.merged) facts.unshift(['between', `${value(curve.low)} and ${value(curve.high)}`]);
  facts.push(['in', curve.group.title]);
  return { title: `${curve.title}: ${value(curve.mean)}`, full: '', facts };
}

/** The mean as an area, and from the lowest to the highest value a pale band. */
function drawCurve(context, picture, curve, y) {
  const { colours, view, left, width } = picture;
  const scale = width / (view.to - view.from);
  // Whole pixels: what is pale must not lie over its neighbor.
  const x = (time) => Math.round(Math.min(left + width, Math.max(left, left + (time - view.from) * scale)));
  const [room, bottom] = [curveHeight - 6, y + curveHeight - 4];
  const level = (value) => bottom - (Math.min(value, curve.top) / curve.top) * room;
  context.fillStyle = colours.line;
  context.fillRect(left, bottom, width, 1);
  curve.lost.forEach(([from, to]) => drawLost(context, picture, x(from), x(to), bottom - room, room));
  context.fillStyle = colours.curve;
  let [held, until] = [null, left];
  const paint = () => {
    if (!held) return;
    const [from, wide] = [held.from, Math.max(1, held.to - held.from)];
    until = from + wide;
    const [low, top, mean] = [level(held.low), level(held.high), level(held.sum / held.long)];
    context.globalAlpha = 0.3;
    context.fillRect(from, top, wide, low - top);
    context.fillRect(from, mean, wide, bottom - mean);
    context.globalAlpha = 1;
    context.fillRect(from, mean - 0.75, wide, 1.5);
  };
  for (let at = firstBehind(curve, view.from); at < curve.n && curve.begin[at] <= view.to; at += 1) {
    const [from, to, long] = [x(curve.begin[at]), x(curve.end[at]), curve.end[at] - curve.begin[at] || 1];
    // What shares a pixel is drawn as one.
    if (held && to <= held.from + 1) {
      held.to = to;
      held.low = Math.min(held.low, curve.low[at]);
      held.high = Math.max(held.high, curve.high[at]);
      held.sum += curve.mean[at] * long;
      held.long += long;
    } else {
      paint();
      const [low, high, sum] = [curve.low[at], curve.high[at], curve.mean[at] * long];
      held = { from: Math.max(from, until), to, low, high, sum, long };
    }
  }
  paint();
}

/** Hatched, with its name where there is room. */
function drawLost(context, picture, from, to, y, high) {
  if (to <= from) return;
  const { colours, letter } = picture;
  context.save();
  context.beginPath();
  context.rect(from, y, to - from, high);
  context.clip();
  context.fillStyle = colours.unseen;
  context.fillRect(from, y, to - from, high);
  context.strokeStyle = colours.many;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = from - high; x < to; x += 6) {
    context.moveTo(x, y + high);
    context.lineTo(x + high, y);
  }
  context.stroke();
  const text = 'samples lost';
  if (fitting(text, to - from, letter) === text) {
    context.fillStyle = colours.back;
    context.fillRect(from + 3, y + high / 2 - 7, text.length * letter + 4, 14);
    context.fillStyle = colours.ink;
    context.fillText(text, from + 5, y + high / 2);
  }
  context.restore();
}
