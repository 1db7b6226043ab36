// The frame of a roofline: where things are, the axes and the roofs.

/** `1e3` as `1 k`, for the axes. */
function power(value) {
  const scales = [
    [1e15, 'P'],
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ];
  const [scale, name] = scales.find(([least]) => value >= least) ?? [1, ''];
  const shown = value < 1 ? String(Number(value.toPrecision(1))) : number(value / scale);
  return name ? `${shown} ${name}` : shown;
}

/** Whole powers of ten around all values, and at least from `low` to `high`. */
function decades(values, low, high) {
  const some = values.filter((value) => value > 0 && Number.isFinite(value));
  const [least, most] = [Math.min(low, ...some), Math.max(high, ...some)];
  return [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
}

/** Where an intensity and a speed lie in a picture of a width. */
function rooflineFrame(width, level, { roofs, points }) {
  const narrow = width < 640;
  const rate = (point) => point.traffic.find(([name]) => name === level);
  const intensity = (point) => point.flops / rate(point)[1];
  const working = points.filter((point) => point.flops > 0 && rate(point)?.[1] > 0);
  const moving = points.filter((point) => point.flops <= 0 && (rate(point)?.[2] ?? null) !== null);
  const compute = roofs.filter((roof) => !roof.memory).sort((a, b) => b.peak - a.peak);
  const memory = roofs.filter((roof) => roof.memory);
  const slope = memory.find((roof) => roof.name === level);
  const ridges = compute.map((roof) => (slope ? roof.peak / slope.peak : 0));
  const [x0, x1] = decades([...working.map(intensity), ...ridges.map((ridge) => ridge * 3)], 0.1, 100);
  const [y0, y1] = decades(
    [...working.map((point) => point.flops), ...compute.map((roof) => roof.peak * 1.2)],
    1e9,
    1e12,
  );
  const height = narrow ? 360 : 460;
  const [left, right, top] = [narrow ? 52 : 74, width - (narrow ? 12 : 196), 28];
  const floor = height - 46 - (moving.length ? 64 : 0);
  const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (right - left);
  const y = (value) => floor - ((Math.log10(value) - y0) / (y1 - y0)) * (floor - top);
  return {
    width,
    height,
    narrow,
    left,
    right,
    top,
    floor,
    x,
    y,
    x0,
    x1,
    y0,
    y1,
    level,
    rate,
    intensity,
    working,
    moving,
    compute,
    memory,
    slope,
  };
}

function drawAxes(plot, { left, right, top, floor, x, y, x0, x1, y0, y1, level }) {
  const text = (value, attributes) => plot.append(drawn('text', attributes, value));
  // As many labels as there is room for.
  const every = Math.ceil(46 / ((right - left) / (x1 - x0)));
  for (let at = x0; at <= x1; at += 1) {
    const across = x(10 ** at);
    plot.append(drawn('line', { class: 'grid', x1: across, x2: across, y1: top, y2: floor }));
    if ((at - x0) % every) continue;
    text(power(10 ** at), { class: 'tick', x: across, y: floor + 15, 'text-anchor': 'middle' });
  }
  for (let at = y0; at <= y1; at += 1) {
    const up = y(10 ** at);
    plot.append(drawn('line', { class: 'grid', x1: left, x2: right, y1: up, y2: up }));
    text(power(10 ** at), { class: 'tick', x: left - 6, y: up + 4, 'text-anchor': 'end' });
  }
  text(`FLOP per byte at ${level}`, {
    class: 'axis',
    x: (left + right) / 2,
    y: floor + 34,
    'text-anchor': 'middle',
  });
  text('FLOP/s', { class: 'axis', x: left - 6, y: top - 14, 'text-anchor': 'end' });
}

/** The chosen level's slope, the others beside it, and a line for each precision. */
function drawRoofs(plot, { narrow, right, x, y, x0, x1, y0, y1, level, compute, memory, slope }) {
  const highest = compute.length ? compute[0].peak : 10 ** y1;
  const chosenLast = [...memory].sort((a, b) => (a.name === level) - (b.name === level));
  for (const [at, { name, peak }] of chosenLast.entries()) {
    const faint = name === level ? '' : ' faint';
    const from = Math.max(10 ** x0, 10 ** y0 / peak);
    const to = Math.min(10 ** x1, highest / peak);
    if (to <= from) continue;
    const [ax, ay, bx, by] = [x(from), y(from * peak), x(to), y(to * peak)];
    plot.append(drawn('line', { class: `roof${faint}`, x1: ax, y1: ay, x2: bx, y2: by }));
    const angle = (Math.atan2(by - ay, bx - ax) * 180) / Math.PI;
    // One behind the other, as the slopes may lie close together.
    const part = 0.16 + 0.22 * at;
    const middle = `translate(${ax + (bx - ax) * part} ${ay + (by - ay) * part - 5}) rotate(${angle})`;
    const attributes = { class: `roof-name${faint}`, transform: middle, 'text-anchor': 'middle' };
    plot.append(drawn('text', attributes, `${name} ${bytes(peak)}/s`));
  }
  let last = -Infinity;
  for (const { name, peak } of compute) {
    const from = slope ? Math.max(10 ** x0, peak / slope.peak) : 10 ** x0;
    if (from >= 10 ** x1) continue;
    plot.append(drawn('line', { class: 'roof', x1: x(from), x2: right, y1: y(peak), y2: y(peak) }));
    // Names of roofs that lie close together are set one below the other.
    const level = Math.max(y(peak) + (narrow ? -4 : 4), last + (narrow && last > 0 ? 24 : 13));
    last = level;
    const place = narrow ? { x: right, 'text-anchor': 'end' } : { x: right + 6 };
    plot.append(drawn('text', { class: 'roof-name', y: level, ...place }, `${name} ${bytes(peak, 'FLOP/s')}`));
  }
}
