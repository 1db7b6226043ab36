// The roofline: speed over intensity, both logarithmic, under the device's roofs. Launches without
// operations have no intensity; they are on a separate line, by their share of the bandwidth.

const boundClasses = {
  'tensor pipe': 'b0',
  'FP32 pipe': 'b1',
  'FP64 pipe': 'b2',
  'another pipe': 'b3',
  'issue slots': 'b4',
  DRAM: 'b5',
  L2: 'b6',
  'L1 and shared memory': 'b7',
  latency: 'b8',
  unknown: 'b9',
};
const mostNames = 12;

/** The facts about a point. */
function pointFacts(point) {
  const facts = [
    `${duration(point.time)}, limited by: ${point.bound}`,
  ];
  if (texts[point.region]) facts.push(`region: ${texts[point.region]}`);
  const ofPeak = (share) => (share === null ? '' : `, ${percent(share)} of its peak`);
  for (const [precision, speed, share] of point.speeds) {
    facts.push(`${precision}: ${bytes(speed, 'FLOP/s')}${ofPeak(share)}`);
  }
  for (const [level, rate, share, headroom] of point.traffic) {
    const room = headroom === null ? '' : `, ${number(Math.round(headroom * 100) / 100)} x headroom`;
    facts.push(`${level}: ${bytes(rate)}/s${ofPeak(share)}${room}`);
  }
  return facts;
}

class RooflineView {
  constructor(place, raw) {
    // The longest first, so that short ones lie on top and can be reached.
    this.raw = { roofs: raw.roofs, points: [...raw.points].sort((a, b) => b.time - a.time) };
    const has = (level) => raw.points.some((point) => point.traffic.some(([name]) => name === level));
    this.levels = ['DRAM', 'L2', 'L1'].filter(has);
    [this.level] = this.levels;
    this.longest = Math.max(1, this.raw.points[0].time);
    this.place = place;
    this.tip = element('div', { class: 'tip', 'aria-hidden': 'true' });
    this.tip.hidden = true;
    this.stage = element('div', { class: 'stage' });
  }

  tell(point, mark) {
    const { stage, tip } = this;
    tip.hidden = !point;
    if (!point) return;
    const lines = pointFacts(point).map((fact) => element('span', {}, fact));
    tip.replaceChildren(element('b', {}, `${texts[point.kernel]} (ID ${point.id})`), ...lines);
    const [box, around] = [mark.getBoundingClientRect(), stage.getBoundingClientRect()];
    const [x, y] = [box.left + box.width / 2 - around.left, box.top - around.top];
    const above = y - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(4, Math.min(around.width - tip.offsetWidth - 4, x + 14))}px`;
    tip.style.top = `${above < 0 ? y + 22 : above}px`;
  }

  radius(point) {
    return 3.5 + 11 * Math.sqrt(point.time / this.longest);
  }

  /** A circle; its place is added to `taken`. */
  mark(plot, taken, point, x, y) {
    const r = this.radius(point);
    const made = drawn('circle', { class: `point ${boundClasses[point.bound] ?? 'b9'}`, cx: x, cy: y, r });
    made.setAttribute('tabindex', '0');
    made.setAttribute('role', 'img');
    made.setAttribute('aria-label', `${texts[point.kernel]}: ${pointFacts(point).join('; ')}`);
    for (const event of ['pointerenter', 'focus']) made.addEventListener(event, () => this.tell(point, made));
    for (const event of ['pointerleave', 'blur']) made.addEventListener(event, () => this.tell(null));
    taken.push({ y, from: x - r, to: x + r });
    plot.append(made);
  }

  /** A kernel's name beside its largest circle, if there is room. */
  name(plot, taken, point, x, y, right) {
    const kernel = texts[point.kernel].slice(0, 28);
    const names = taken.filter((other) => other.kernel);
    if (names.length === mostNames || names.some((other) => other.kernel === kernel)) return;
    const [wide, room] = [kernel.length * 6.6, this.radius(point) + 4];
    const over = (from) => (other) => Math.abs(other.y - y) < 13 && from < other.to && other.from < from + wide;
    const free = (from) => from > 0 && from + wide < right && !taken.some(over(from));
    const from = [x + room, x - room - wide].find(free);
    if (from === undefined) return;
    taken.push({ kernel, y, from, to: from + wide });
    plot.append(drawn('text', { class: 'point-name', x: from, y: y + 4, 'aria-hidden': 'true' }, kernel));
  }

  draw() {
    const frame = rooflineFrame(Math.max(320, Math.floor(this.place.clientWidth)), this.level, this.raw);
    const { width, height, right, x, y, intensity, working, moving } = frame;
    const plot = drawn('svg', { class: 'roofline', viewBox: `0 0 ${width} ${height}`, width, height, role: 'group' });
    const label = `Roofline at ${this.level}: launches with operations: ${working.length}, without: ${moving.length}.`;
    plot.setAttribute('aria-label', `${label} The table below has every number.`);
    drawAxes(plot, frame);
    drawRoofs(plot, frame);
    const taken = [];
    const place = (point) => [point, x(intensity(point)), y(point.flops)];
    for (const point of working) this.mark(plot, taken, ...place(point));
    for (const point of working) this.name(plot, taken, ...place(point), right);
    if (moving.length) this.strip(plot, taken, frame);
    this.stage.replaceChildren(plot, this.tip);
  }

  /** Launches that only move bytes. */
  strip(plot, taken, { left, right, height, rate, moving }) {
    const base = height - 26;
    const across = (share) => left + Math.min(1, share) * (right - left);
    plot.append(drawn('line', { class: 'grid', x1: left, x2: right, y1: base, y2: base }));
    const title = `no operations: share of the ${this.level} bandwidth`;
    plot.append(drawn('text', { class: 'axis', x: left, y: base - 18 }, title));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const anchor = share === 1 ? 'end' : 'middle';
      const attributes = { class: 'tick', x: across(share), y: base + 20, 'text-anchor': anchor };
      plot.append(drawn('text', attributes, `${share * 100} %`));
    }
    const place = (point) => [point, across(rate(point)[2]), base];
    for (const point of moving) this.mark(plot, taken, ...place(point));
    for (const point of moving) this.name(plot, taken, ...place(point), right);
  }

  /** Selects the level whose bytes count. */
  tools() {
    const tools = element('div', { class: 'tools' });
    const choice = element('span', { class: 'buttons', role: 'group', 'aria-label': 'memory level' });
    for (const level of this.levels) {
      const button = element('button', { type: 'button', 'aria-pressed': String(level === this.level) }, level);
      button.addEventListener('click', () => {
        this.level = level;
        for (const other of choice.children) other.setAttribute('aria-pressed', String(other === button));
        this.draw();
      });
      choice.append(button);
    }
    const several = this.levels.length > 1;
    tools.append(element('span', {}, `bytes counted at ${several ? '' : this.level}`), several ? choice : '');
    tools.append(element('span', { class: 'none' }, 'larger circles took more time'));
    return tools;
  }
}

function rooflineView(place, raw) {
  const it = new RooflineView(place, raw);
  const legend = element('ul', { class: 'legend' });
  for (const [bound, name] of Object.entries(boundClasses)) {
    if (!raw.points.some((point) => point.bound === bound)) continue;
    legend.append(element('li', {}, element('i', { class: `swatch round ${name}` }), bound));
  }
  place.append(it.tools(), legend, it.stage);
  it.draw();
  let width = place.clientWidth;
  const resized = soon(() => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    it.draw();
  });
  new ResizeObserver(resized).observe(place);
}
