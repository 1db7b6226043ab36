// Stacks of the host as bars: each frame below its caller, as wide as its share of the samples.

const flameHeight = 19;

class FlameView {
  constructor(place, raw) {
    this.raw = raw;
    this.callees = raw.name.map(() => []);
    this.roots = [];
    raw.caller.forEach((caller, at) => (caller < 0 ? this.roots : this.callees[caller]).push(at));
    this.bars = element('div', { class: 'flame', role: 'tree', 'aria-label': place.dataset.label });
    this.details = element('div', { class: 'details', 'aria-live': 'polite' });
    this.all = element('button', { type: 'button', onclick: () => this.zoom(-1) }, 'show all');
    place.append(element('div', { class: 'tools' }, this.all, ...this.tools()), this.bars, this.details);
    this.bars.addEventListener('keydown', (event) => this.typed(event));
    this.zoom(-1);
  }

  /** More than the button that shows all. */
  tools() {
    return [];
  }

  /** The frame at the whole width, its callers above it and what it calls below. */
  zoom(at) {
    const { caller } = this.raw;
    this.zoomed = at;
    this.all.disabled = at < 0;
    this.at = new Map();
    this.bars.replaceChildren();
    const above = [];
    for (let up = at; up >= 0; up = caller[up]) above.unshift(up);
    above.forEach((frame, depth) => this.add(frame, depth, 0, 1));
    const whole = at < 0 ? this.whole() : this.wide(at);
    let deepest = above.length;
    const below = (frames, depth, left) => {
      for (const frame of frames) {
        const share = whole > 0 ? this.wide(frame) / whole : 0;
        if (share * this.bars.clientWidth >= 1.5) {
          deepest = Math.max(deepest, depth + 1);
          this.add(frame, depth, left, share);
          below(this.callees[frame], depth + 1, left);
        }
        left += share;
      }
    };
    below(at < 0 ? this.roots : this.callees[at], above.length, 0);
    this.bars.style.height = `${deepest * flameHeight + 2}px`;
    const first = this.at.get(at) ?? this.bars.firstChild;
    if (first) first.tabIndex = 0;
    this.tell(at);
  }

  /** How much a frame takes, and all together. */
  wide(frame) {
    return this.raw.of[frame];
  }

  whole() {
    return this.raw.samples;
  }

  look(frame) {
    return `bar-${this.raw.kind[frame]}`;
  }

  written(frame) {
    const { name, place } = this.raw;
    return texts[name[frame]] + (texts[place[frame]] ? ` ${texts[place[frame]].split('/').pop()}` : '');
  }

  add(frame, depth, left, share) {
    const bar = element('div', {
      role: 'treeitem',
      tabindex: '-1',
      class: this.look(frame),
      'aria-level': depth + 1,
      'aria-label': this.text(frame),
      onclick: () => this.zoom(frame),
      onpointerenter: () => this.tell(frame),
      onfocus: () => this.tell(frame),
    });
    bar.textContent = this.written(frame);
    Object.assign(bar.style, { left: `${left * 100}%`, width: `${share * 100}%`, top: `${depth * flameHeight}px` });
    this.bars.append(bar);
    this.at.set(frame, bar);
  }

  facts(frame) {
    const { of, own, samples } = this.raw;
    const text = (some) => `${percent(some / samples)}, ${counted(some, 'sample')}`;
    return [
      ['in it and what it calls', text(of[frame])],
      ['in it alone', text(own[frame])],
    ];
  }

  text(frame) {
    const { name, place } = this.raw;
    const facts = this.facts(frame).map(([what, text]) => `${what} ${text}`);
    return [texts[name[frame]], texts[place[frame]], ...facts].filter(Boolean).join(', ');
  }

  tell(frame) {
    const help = 'Point at a frame to see its place and its share; click it, or press Enter, to zoom.';
    if (frame < 0) return this.details.replaceChildren(element('p', { class: 'none' }, help));
    const list = element('dl');
    for (const [what, text] of this.facts(frame)) {
      list.append(element('div', {}, element('dt', {}, what), element('dd', {}, text)));
    }
    const name = element('b', {}, texts[this.raw.name[frame]]);
    return this.details.replaceChildren(
      element('p', { class: 'name' }, name, ` ${texts[this.raw.place[frame]]}`),
      list,
    );
  }

  focus(frame) {
    const bar = this.at.get(frame);
    if (!bar) return;
    this.bars.querySelectorAll('[tabindex="0"]').forEach((other) => {
      other.tabIndex = -1;
    });
    bar.tabIndex = 0;
    bar.focus();
  }

  typed(event) {
    const [frame] = [...this.at].find(([, bar]) => bar === event.target) ?? [-1];
    if (frame < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const caller = this.raw.caller[frame];
    const beside = caller < 0 ? this.roots : this.callees[caller];
    const moves = {
      ArrowDown: () => this.focus(this.callees[frame][0]),
      ArrowUp: () => this.focus(caller),
      ArrowLeft: () => this.focus(beside[beside.indexOf(frame) - 1]),
      ArrowRight: () => this.focus(beside[beside.indexOf(frame) + 1]),
      Enter: () => this.zoom(frame),
      ' ': () => this.zoom(frame),
      Escape: () => this.zoom(-1),
      0: () => this.zoom(-1),
    };
    const act = moves[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    if (!this.bars.contains(document.activeElement)) this.focus(frame);
  }
}

function flameView(place, it) {
  let wide = place.clientWidth;
  const resized = soon(() => {
    if (place.clientWidth === wide) return;
    wide = place.clientWidth;
    it.zoom(it.zoomed);
  });
  new ResizeObserver(resized).observe(place);
}
