// Two timelines that begin with the same iteration: what is done to one is done to the other.

class Pair {
  constructor(places, raws) {
    this.views = places.map((place, at) => timelineView(place, raws[at], 0.36));
    this.views.forEach((view, at) => {
      view.moved = () => this.follow(at);
    });
    /** The iteration at which they are aligned, counted from the usual one. */
    this.step = 0;
    this.align();
  }

  mark(view, step) {
    const { marks, usual } = view.timeline;
    return marks ? marks[usual + step] : 0;
  }

  /** The end of an iteration. */
  until(view, step) {
    const { marks, usual, span } = view.timeline;
    return marks ? (marks[usual + step + 1] ?? span) : span;
  }

  has(step) {
    return this.views.every(({ timeline: { marks, usual } }) => {
      const at = usual + step;
      return marks && at >= 0 && at + 1 < marks.length;
    });
  }

  /** Both begin at the same place; the longer of the two iterations is in view. */
  align() {
    for (const view of this.views) view.view.zero = this.mark(view, this.step);
    const long = Math.max(...this.views.map((view) => this.until(view, this.step) - view.view.zero));
    this.show(-0.04 * long, 1.04 * long);
  }

  /** Times are those since the iteration began. */
  show(from, to) {
    for (const it of this.views) {
      Object.assign(it.view, { from: it.view.zero + from, to: it.view.zero + to });
      it.redraw();
    }
  }

  follow(leader) {
    const { from, to, zero } = this.views[leader].view;
    const other = this.views[1 - leader];
    Object.assign(other.view, { from: other.view.zero + from - zero, to: other.view.zero + to - zero });
    other.redraw();
  }

  go(by) {
    if (!this.has(this.step + by)) return say('there is no further iteration on both sides');
    this.step += by;
    this.align();
    return say(this.told());
  }

  told() {
    const [before, after] = this.views.map((view) => this.until(view, this.step) - view.view.zero);
    return `this iteration: ${duration(before)} before, ${duration(after)} after`;
  }
}

/** Both, with buttons that go through the iterations. */
function pairView(places, raws, tools) {
  const it = new Pair(places, raws);
  find = (name) => it.views.filter(({ find: knows }) => knows.knows(name)).forEach((view) => view.find(name));
  find.knows = (name) => it.views.some((view) => view.find.knows(name));
  if (!it.views.every((view) => view.timeline.marks)) return it;
  const told = element('span', { class: 'shown', role: 'status' });
  const go = (by) => {
    it.go(by);
    told.textContent = it.told();
  };
  tools.append(
    element(
      'span',
      { class: 'buttons' },
      element('button', { type: 'button', onclick: () => go(-1) }, 'previous iteration'),
      element('button', { type: 'button', onclick: () => go(0) }, 'this iteration'),
      element('button', { type: 'button', onclick: () => go(1) }, 'next iteration'),
    ),
    told,
  );
  told.textContent = it.told();
  for (const { scroller } of it.views) {
    scroller.addEventListener('keydown', (event) => {
      const by = { p: -1, n: 1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(by);
    });
  }
  return it;
}
