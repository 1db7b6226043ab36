// The roofline: speed over intensity, both logarithmic, under the device's roofs. What makes
// no operations has no intensity; it stands on a line of its own by its share of the bandwidth.

const boundClasses = {
  'tensor pipe': 'b0', 'FP32 pipe': 'b1', 'FP64 pipe': 'b2', 'another pipe': 'b3', 'issue slots': 'b4',
  DRAM: 'b5', L2: 'b6', 'L1 and shared memory': 'b7', latency: 'b8', unknown: 'b9',
};

/** `1e3` as `1 k`, for the axes. */
function power(value, unit) {
  const [scale, name] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([least]) => value >= least) ?? [1, ''];
  return `${number(value / scale)} ${name}${unit}`;
}

/** What a point says about itself. */
function pointFacts(point) {
  const facts = [`${duration(point.time)}, bound by ${point.bound === 'unknown' ? 'what is not known' : point.bound}`];
  if (texts[point.region]) facts.push(`region: ${texts[point.region]}`);
  for (const [precision, speed, share] of point.speeds) {
    facts.push(`${precision}: ${bytes(speed, 'FLOP/s')}${share === null ? '' : `, ${percent(share)} of its peak`}`);
  }
  for (const [level, rate, share, headroom] of point.traffic) {
    const room = headroom === null ? '' : `, ${number(Math.round(headroom * 100) / 100)} x headroom`;
    facts.push(`${level}: ${bytes(rate)}/s${share === null ? '' : `, ${percent(share)} of its peak`}${room}`);
  }
  return facts;
}

function rooflineView(place, { roofs, points }) {
  const levels = ['DRAM', 'L2', 'L1'].filter((level) => points.some((point) => point.traffic.some(([name]) => name === level)));
  const state = { level: levels[0] };
  const longest = Math.max(1, ...points.map((point) => point.time));
  const radius = (point) => 3.5 + 11 * Math.sqrt(point.time / longest);
  const tip = element('div', { class: 'tip', 'aria-hidden': 'true' });
  const stage = element('div', { class: 'stage' });
  tip.hidden = true;

  function tell(point, mark) {
    tip.hidden = !point;
    if (!point) return;
    tip.replaceChildren(element('b', {}, `${texts[point.kernel]} (ID ${point.id})`), ...pointFacts(point).map((fact) => element('span', {}, fact)));
    const [box, around] = [mark.getBoundingClientRect(), stage.getBoundingClientRect()];
    const x = box.left + box.width / 2 - around.left;
    const y = box.top - around.top;
    tip.style.left = `${Math.max(4, Math.min(around.width - tip.offsetWidth - 4, x + 14))}px`;
    tip.style.top = `${Math.max(4, y - tip.offsetHeight - 6 < 0 ? y + 22 : y - tip.offsetHeight - 6)}px`;
  }

  /** The longest first, so that short ones lie on top and can be reached. */
  const inOrder = [...points].sort((a, b) => b.time - a.time);
  const mark = (point, x, y) => {
    const made = drawn('circle', { class: `point ${boundClasses[point.bound] ?? 'b9'}`, cx: x, cy: y, r: radius(point), tabindex: 0, role: 'img' });
    made.setAttribute('aria-label', `${texts[point.kernel]}: ${pointFacts(point).join('; ')}`);
    for (const event of ['pointerenter', 'focus']) made.addEventListener(event, () => tell(point, made));
    for (const event of ['pointerleave', 'blur']) made.addEventListener(event, () => tell(null));
    return made;
  };

  function draw() {
    const width = Math.max(320, Math.floor(place.clientWidth));
    const narrow = width < 640;
    const height = narrow ? 360 : 460;
    const rate = (point) => point.traffic.find(([name]) => name === state.level);
    const working = inOrder.filter((point) => point.flops > 0 && rate(point)?.[1] > 0);
    const moving = inOrder.filter((point) => point.flops <= 0 && rate(point)?.[2] !== null && rate(point));
    const strip = moving.length ? 64 : 0;
    const edge = { left: narrow ? 52 : 74, right: narrow ? 12 : 150, top: 18, bottom: 46 + strip };
    const memory = roofs.filter((roof) => roof.memory);
    const compute = roofs.filter((roof) => !roof.memory).sort((a, b) => b.peak - a.peak);
    const slope = memory.find((roof) => roof.name === state.level);
    const intensity = (point) => point.flops / rate(point)[1];
    const ridges = slope ? compute.map((roof) => roof.peak / slope.peak) : [];
    const range = (values, low, high) => {
      const some = values.filter((value) => value > 0 && Number.isFinite(value));
      return [10 ** Math.floor(Math.log10(Math.min(low, ...some))), 10 ** Math.ceil(Math.log10(Math.max(high, ...some)))];
    };
    const [x0, x1] = range([...working.map(intensity), ...ridges.map((ridge) => ridge * 3)], 0.1, 100);
    const [y0, y1] = range([...working.map((point) => point.flops), ...compute.map((roof) => roof.peak * 1.2)], 1e9, 1e12);
    const right = width - edge.right;
    const floor = height - edge.bottom;
    const x = (value) => edge.left + ((Math.log10(value) - Math.log10(x0)) / (Math.log10(x1) - Math.log10(x0))) * (right - edge.left);
    const y = (value) => floor - ((Math.log10(value) - Math.log10(y0)) / (Math.log10(y1) - Math.log10(y0))) * (floor - edge.top);
    const plot = drawn('svg', { class: 'roofline', viewBox: `0 0 ${width} ${height}`, width, height, role: 'group' });
    plot.setAttribute('aria-label', `Roofline at ${state.level}: ${working.length} launches with operations, ${moving.length} without. The table below has every number.`);
    const text = (value, attributes) => drawn('text', attributes, value);

    for (let at = x0; at <= x1 * 1.001; at *= 10) {
      plot.append(drawn('line', { class: 'grid', x1: x(at), x2: x(at), y1: edge.top, y2: floor }));
      plot.append(text(number(at), { class: 'tick', x: x(at), y: floor + 15, 'text-anchor': 'middle' }));
    }
    for (let at = y0; at <= y1 * 1.001; at *= 10) {
      plot.append(drawn('line', { class: 'grid', x1: edge.left, x2: right, y1: y(at), y2: y(at) }));
      plot.append(text(power(at, ''), { class: 'tick', x: edge.left - 6, y: y(at) + 4, 'text-anchor': 'end' }));
    }
    plot.append(text(`FLOP for each byte at ${state.level}`, { class: 'axis', x: (edge.left + right) / 2, y: floor + 34, 'text-anchor': 'middle' }));
    plot.append(text('FLOP/s', { class: 'axis', x: edge.left - 6, y: edge.top - 6, 'text-anchor': 'end' }));

    const roof = compute.length ? compute[0].peak : y1;
    for (const other of [...memory].sort((a, b) => (a.name === state.level) - (b.name === state.level))) {
      const chosen = other.name === state.level;
      const from = Math.max(x0, y0 / other.peak);
      const to = Math.min(x1, roof / other.peak);
      if (to <= from) continue;
      plot.append(drawn('line', { class: chosen ? 'roof' : 'roof faint', x1: x(from), y1: y(from * other.peak), x2: x(to), y2: y(to * other.peak) }));
      const angle = (Math.atan2(y(to * other.peak) - y(from * other.peak), x(to) - x(from)) * 180) / Math.PI;
      const place = 10 ** (Math.log10(from) + (Math.log10(to) - Math.log10(from)) * 0.32);
      plot.append(text(`${other.name} ${bytes(other.peak)}/s`, {
        class: chosen ? 'roof-name' : 'roof-name faint', transform: `translate(${x(place)} ${y(place * other.peak) - 5}) rotate(${angle})`, 'text-anchor': 'middle',
      }));
    }
    let below = -Infinity;
    for (const limit of compute) {
      const from = slope ? Math.max(x0, limit.peak / slope.peak) : x0;
      if (from >= x1) continue;
      plot.append(drawn('line', { class: 'roof', x1: x(from), x2: right, y1: y(limit.peak), y2: y(limit.peak) }));
      // Names of roofs that lie close together are set one below the other.
      const name = `${limit.name} ${bytes(limit.peak, 'FLOP/s')}`;
      const level = Math.max(y(limit.peak) + 4, below + 13);
      below = level;
      const attributes = narrow ? { x: right, y: y(limit.peak) - 4, 'text-anchor': 'end' } : { x: right + 6, y: level };
      plot.append(text(name, { class: 'roof-name', ...attributes }));
    }

    for (const point of working) plot.append(mark(point, x(intensity(point)), y(point.flops)));
    if (moving.length) {
      const base = height - 26;
      const across = (share) => edge.left + Math.min(1, share) * (right - edge.left);
      plot.append(drawn('line', { class: 'grid', x1: edge.left, x2: right, y1: base, y2: base }));
      plot.append(text(`no operations: part of the ${state.level} bandwidth`, { class: 'axis', x: edge.left, y: base - 18 }));
      for (const share of [0, 0.25, 0.5, 0.75, 1]) {
        plot.append(text(`${share * 100} %`, { class: 'tick', x: across(share), y: base + 20, 'text-anchor': share === 1 ? 'end' : 'middle' }));
      }
      for (const point of moving) plot.append(mark(point, across(rate(point)[2]), base));
    }
    stage.replaceChildren(plot, tip);
  }

  const tools = element('div', { class: 'tools' }, element('span', {}, 'bytes counted at'));
  const choice = element('span', { class: 'buttons', role: 'group', 'aria-label': 'level of memory' });
  for (const level of levels) {
    const button = element('button', { type: 'button', 'aria-pressed': String(level === state.level) }, level);
    button.addEventListener('click', () => {
      state.level = level;
      for (const other of choice.children) other.setAttribute('aria-pressed', String(other === button));
      draw();
    });
    choice.append(button);
  }
  tools.append(choice, element('span', { class: 'none' }, 'a larger circle took more time'));
  const legend = element('ul', { class: 'legend' });
  for (const [bound, name] of Object.entries(boundClasses)) {
    if (points.some((point) => point.bound === bound)) {
      legend.append(element('li', {}, element('i', { class: `swatch round ${name}` }), bound));
    }
  }
  place.append(tools, legend, stage);
  draw();
  let width = place.clientWidth;
  new ResizeObserver(soon(() => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  })).observe(place);
}
