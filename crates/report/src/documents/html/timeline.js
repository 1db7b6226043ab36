// The timeline in the page: its parts, what is in view, what is selected.

/** The smallest view, in nanoseconds. */
const shortest = 100;
const wholeHeight = 30;
const kindNames = { gpu: 'GPU', regions: 'regions', operators: 'operators', calls: 'CUDA calls' };
const curveNames = { curves: 'values over time', more: 'more values' };

class TimelineView {
  /** `part` of the window is its height at most. */
  constructor(place, raw, part) {
    this.place = place;
    this.part = part;
    this.timeline = readTimeline(raw);
    this.view = { from: 0, to: this.timeline.span, zero: 0 };
    /** Called with the view when somebody changed it. */
    this.moved = null;
    this.shown = Object.fromEntries(Object.keys(kindNames).map((kind) => [kind, this.has(kind)]));
    Object.assign(this.shown, { curves: true, more: false });
    this.rows = [];
    this.hovered = null;
    this.selected = null;
    /** The stretch of time that the reader chose. */
    this.span = null;
    /** By what: whether the search fits; null when nothing is searched for. */
    this.matched = null;
    this.canvas = element('canvas', { role: 'img', 'aria-label': place.dataset.label });
    this.space = element('div');
    this.scroller = element('div', { class: 'scroller', tabindex: '0', role: 'group' }, this.canvas, this.space);
    this.scroller.setAttribute('aria-roledescription', 'timeline');
    this.scroller.setAttribute(
      'aria-label',
      'Timeline: arrow keys or A and D move, plus and minus or W and S zoom, 0 shows all, brackets step through events, comma and period change the track, M selects the time in view',
    );
    this.whole = element('canvas', { class: 'whole', 'aria-hidden': 'true' });
    this.details = element('div', { class: 'details', 'aria-live': 'polite' });
    this.redraw = soon(() => this.draw());
  }

  has(kind) {
    return this.timeline.groups.some((group) => group.tracks.some((track) => track.kind === kind));
  }

  hasCurves(kind) {
    return this.timeline.groups.some((group) => group.curves.some((curve) => kind === 'curves' || !curve.first));
  }

  /** Lays out everything after the window, the colors or the selection of tracks changed. */
  arrange() {
    const { canvas, place, scroller, timeline, whole } = this;
    this.outer = Math.floor(place.clientWidth);
    this.left = this.outer >= 700 ? 132 : 0;
    const { rows, height } = layout(timeline, this.shown, this.left);
    this.rows = rows;
    this.height = Math.max(120, Math.min(height + axisHeight, Math.round(innerHeight * this.part)));
    scroller.style.height = `${this.height + 2}px`;
    canvas.style.height = `${this.height}px`;
    this.space.style.height = `${Math.max(0, height + axisHeight - this.height)}px`;
    // What the frame and a scroll bar leave.
    this.width = Math.max(200, scroller.clientWidth);
    const ratio = devicePixelRatio || 1;
    const sheets = [
      [canvas, this.height],
      [whole, wholeHeight],
    ];
    for (const [sheet, high] of sheets) {
      [sheet.width, sheet.height] = [Math.round(this.width * ratio), Math.round(high * ratio)];
      sheet.style.width = `${this.width}px`;
      sheet.style.height = `${high}px`;
      sheet.getContext('2d', { alpha: false }).scale(ratio, ratio);
    }
    const context = canvas.getContext('2d', { alpha: false });
    context.font = '11px system-ui, sans-serif';
    this.font = context.font;
    this.letter = context.measureText('abcdefghij').width / 10;
    this.colours = timelineColours();
    this.busy = this.drawBusy();
    this.draw();
  }

  draw() {
    const { colours, font, height, hovered, left, letter, matched, rows, selected, timeline, view } = this;
    const [width, scroll] = [this.width - left, this.scroller.scrollTop];
    const picture = {
      colours,
      font,
      height,
      hovered,
      left,
      letter,
      matched,
      rows,
      scroll,
      selected,
      timeline,
      view,
      width,
    };
    drawTimeline(this.canvas.getContext('2d', { alpha: false }), picture);
    this.drawSpan();
    this.drawWhole();
  }

  /** The stretch of time that was chosen, over everything. */
  drawSpan() {
    const { colours, height, left, span, view, width } = this;
    if (!span) return;
    const inside = (time) => Math.min(width, Math.max(left, left + (time - view.from) / this.perPixel()));
    const [from, to] = [inside(span.from), inside(span.to)];
    const context = this.canvas.getContext('2d', { alpha: false });
    context.save();
    context.fillStyle = colours.select;
    context.globalAlpha = 0.16;
    context.fillRect(from, 0, Math.max(1, to - from), height);
    context.globalAlpha = 1;
    for (const x of [from, to]) context.fillRect(Math.round(x), 0, 1, height);
    context.restore();
  }

  /** The whole span, and the part in view. */
  drawWhole() {
    const { colours, left, timeline, view, width } = this;
    const context = this.whole.getContext('2d', { alpha: false });
    context.drawImage(this.busy, 0, 0, width, wholeHeight);
    const inside = (time) => Math.min(1, Math.max(0, time / timeline.span));
    const [from, to] = [view.from, view.to].map((time) => left + inside(time) * (width - left));
    context.fillStyle = colours.unseen;
    context.fillRect(left, 0, from - left, wholeHeight);
    context.fillRect(to, 0, width - to, wholeHeight);
    context.strokeStyle = colours.select;
    context.lineWidth = 1;
    context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), wholeHeight - 1);
  }

  /** The same for every frame: how busy, over the whole span. */
  drawBusy() {
    const { colours, left, timeline, whole, width } = this;
    const sheet = element('canvas');
    [sheet.width, sheet.height] = [whole.width, whole.height];
    const context = sheet.getContext('2d', { alpha: false });
    context.scale(sheet.width / width, sheet.width / width);
    context.fillStyle = colours.back;
    context.fillRect(0, 0, width, wholeHeight);
    context.fillStyle = colours.of[0];
    overview(timeline, width - left).forEach((share, x) => {
      const high = share > 0 ? Math.max(1, share * (wholeHeight - 4)) : 0;
      context.fillRect(left + x, wholeHeight - high, 1, high);
    });
    if (left) {
      context.fillStyle = colours.muted;
      context.font = this.font;
      context.textBaseline = 'middle';
      context.fillText(this.has('gpu') ? 'GPU busy' : 'threads', 6, wholeHeight / 2);
    }
    return sheet;
  }

  perPixel() {
    return (this.view.to - this.view.from) / (this.width - this.left);
  }

  timeAt(x) {
    return this.view.from + (x - this.left) * this.perPixel();
  }

  show(from, to) {
    const { timeline, view } = this;
    const span = Math.min(timeline.span, Math.max(shortest, to - from));
    const middle = (from + to) / 2;
    view.from = Math.min(Math.max(0, middle - span / 2), timeline.span - span);
    view.to = view.from + span;
    this.redraw();
    this.moved?.(view);
  }

  pan(time) {
    this.show(this.view.from + time, this.view.to + time);
  }

  /** `around` stays where it is. */
  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view;
    const span = Math.min(this.timeline.span, Math.max(shortest, (to - from) * factor));
    const begin = around - ((around - from) / (to - from)) * span;
    this.show(begin, begin + span);
  }

  /** The steady iterations, if they are not all there is. */
  steady() {
    const { span, steady } = this.timeline;
    return steady && steady[1] - steady[0] < 0.95 * span ? steady : null;
  }

  showSteady() {
    const [from, to] = this.steady();
    const room = (to - from) / 50;
    this.show(from - room, to + room);
  }

  fit() {
    this.show(0, this.timeline.span);
  }

  /** Shows a piece with some room around it. */
  showPiece({ lane, at }, room) {
    const [begin, end] = [lane.begin[at], lane.end[at]];
    this.show(begin - (end - begin) * room, end + (end - begin) * room);
  }

  /** Scrolls a piece into view. */
  reveal(piece) {
    const { lane, at } = piece;
    const row = this.rows.find((candidate) => candidate.lane === lane);
    if (!row) return;
    const [begin, end] = [lane.begin[at], lane.end[at]];
    const { from, to } = this.view;
    const half = (to - from) / 2;
    if (end - begin > to - from) this.showPiece(piece, 0.1);
    else if (begin < from || end > to) this.show((begin + end) / 2 - half, (begin + end) / 2 + half);
    const top = this.scroller.scrollTop;
    const below = top + this.height - axisHeight;
    if (row.y < top || row.y + laneHeight > below) this.scroller.scrollTop = row.y - this.height / 3;
  }

  /** Chooses a stretch of time; while that is `going` on, the address stays as it is. */
  choose(from, to, going = false) {
    const inside = (time) => Math.min(this.timeline.span, Math.max(0, time));
    const [begin, end] = [inside(Math.min(from, to)), inside(Math.max(from, to))];
    this.selected = null;
    this.span = end > begin ? { from: begin, to: end } : null;
    this.redraw();
    if (!this.span) {
      this.select(null);
      linkSpan(null);
      return;
    }
    this.details.replaceChildren(...spanDetails(this.timeline, begin, end, this.view.zero));
    if (!going) linkSpan(this.span);
  }

  select(piece) {
    this.selected = piece;
    if (this.span) linkSpan(null);
    this.span = null;
    this.details.replaceChildren();
    this.redraw();
    if (!piece) {
      const help =
        'Click an event, or step through events with [ and ], to see its details. Drag with Shift, or along the axis, to see what happened in a stretch of time.';
      this.details.append(element('p', { class: 'none' }, help));
      return;
    }
    const { title, full, facts } = describe(this.timeline, piece.lane, piece.at, this.view.zero);
    const more = full && full !== title ? ` ${full}` : '';
    this.details.append(element('p', { class: 'name' }, element('b', {}, title), more));
    const list = element('dl');
    for (const [name, text] of facts) {
      list.append(element('div', {}, element('dt', {}, name), element('dd', {}, text)));
    }
    this.details.append(list);
  }

  /** The next event of the lane, or the first in view. */
  stepThrough(by) {
    const row = this.rows.find((candidate) => candidate.lane);
    if (!row) return;
    const { lane, at } = this.selected ?? { lane: row.lane, at: firstBehind(row.lane, this.view.from) - by };
    const next = { lane, at: Math.min(lane.n - 1, Math.max(0, at + by)) };
    this.select(next);
    this.reveal(next);
  }

  /** The piece of the next row that ends behind the one that is selected. */
  changeTrack(by) {
    const lanes = this.rows.filter((row) => row.lane?.n).map((row) => row.lane);
    if (!lanes.length) return;
    const before = this.selected;
    const lane = lanes[Math.min(lanes.length - 1, Math.max(0, lanes.indexOf(before?.lane) + by))];
    const time = before ? before.lane.begin[before.at] : this.view.from;
    const piece = { lane, at: Math.min(lane.n - 1, firstBehind(lane, time)) };
    this.select(piece);
    this.reveal(piece);
  }

  /** What is at a point of the canvas. */
  pieceUnder(x, y) {
    if (x < this.left || y < axisHeight) return null;
    const level = y - axisHeight + this.scroller.scrollTop;
    const row = this.rows.find(({ lane, y: top, height }) => lane && level >= top && level < top + height);
    const at = row ? pieceAt(row.lane, this.timeAt(x), this.perPixel() * 2) : -1;
    return at < 0 ? null : { lane: row.lane, at };
  }
}

function timelineLegend({ families, others, what }) {
  const legend = element('ul', { class: 'legend' });
  const entry = (name, colour) =>
    legend.append(element('li', {}, element('i', { class: `swatch t-${colour}` }), name));
  families.forEach((name, at) => entry(`${texts[name]} kernels`, colourNames[at]));
  if (others) entry(families.length ? 'other kernels' : 'kernels', 'k6');
  const used = new Set(what.colour);
  const rest = { copy: 'copies', fill: 'fills', graph: 'graphs', 'call-launch': 'launch calls' };
  Object.assign(rest, { 'call-sync': 'synchronizing calls', 'call-copy': 'copy calls' });
  for (const [colour, name] of Object.entries(rest)) {
    if (used.has(colourNames.indexOf(colour))) entry(name, colour);
  }
  return legend;
}

function timelineView(place, raw, part = 0.62) {
  const it = new TimelineView(place, raw, part);
  const quarter = () => (it.view.to - it.view.from) / 4;
  const tools = element(
    'div',
    { class: 'tools' },
    element(
      'span',
      { class: 'buttons' },
      signButton('+', 'zoom in', () => it.zoom(0.5)),
      signButton('−', 'zoom out', () => it.zoom(2)),
      signButton('all', 'show all', () => it.fit()),
      ...(it.steady() ? [signButton('loop', 'show the steady iterations', () => it.showSteady())] : []),
      signButton('◂', 'move left', () => it.pan(-quarter())),
      signButton('▸', 'move right', () => it.pan(quarter())),
    ),
    ...searchTools(it),
  );
  for (const [kind, name] of Object.entries({ ...kindNames, ...curveNames })) {
    if (!it.has(kind) && !(kind in curveNames && it.hasCurves(kind))) continue;
    const box = element('input', { type: 'checkbox' });
    box.checked = it.shown[kind];
    box.addEventListener('change', () => {
      it.shown[kind] = box.checked;
      it.arrange();
    });
    tools.append(element('label', {}, box, ` ${name}`));
  }
  const stage = element('div', { class: 'stage' }, it.scroller, ...hands(it));
  place.append(tools, timelineLegend(it.timeline), it.whole, stage, it.details);
  it.select(null);
  it.arrange();
  if (it.steady()) it.showSteady();
  themed.push(() => it.arrange());
  const resized = soon(() => {
    if (Math.floor(place.clientWidth) !== it.outer) it.arrange();
  });
  new ResizeObserver(resized).observe(place);
  const linked = () => {
    const span = linkedSpan(it.timeline.span);
    if (!span) return;
    it.show(span.from - (span.to - span.from) / 4, span.to + (span.to - span.from) / 4);
    it.choose(span.from, span.to);
    place.scrollIntoView({ block: 'center' });
  };
  // Of two timelines in one page, none is meant.
  if (document.querySelectorAll('[data-timeline]').length === 1) {
    linked();
    addEventListener('hashchange', linked);
  }
  return it;
}
