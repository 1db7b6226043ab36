// The time of an iteration as bars, before and after: as wide as one of them, colored by what changed.

/** Parts of an iteration from which on a change is shown as one, and as a large one. */
const changeLevels = [0.002, 0.01, 0.05];

class DifferenceView extends FlameView {
  tools() {
    const label = 'widths of the bars';
    this.choice = element('span', { class: 'buttons', role: 'group', 'aria-label': label });
    for (const side of ['before', 'after']) {
      const pressed = String(side === this.side());
      this.choice.append(
        element('button', { type: 'button', 'aria-pressed': pressed, onclick: () => this.turn(side) }, side),
      );
    }
    const legend = element('ul', { class: 'legend' });
    for (const [look, name] of [
      ['less-2', 'takes less now'],
      ['same', 'as before'],
      ['more-2', 'takes more now'],
    ]) {
      legend.append(element('li', {}, element('i', { class: `swatch bar-${look}` }), name));
    }
    return [element('span', { class: 'shown' }, label), this.choice, legend];
  }

  side() {
    return this.chosen ?? 'after';
  }

  turn(side) {
    this.chosen = side;
    [...this.choice.children].forEach((button) =>
      button.setAttribute('aria-pressed', String(button.textContent === side)),
    );
    this.zoom(this.wide(this.zoomed) > 0 ? this.zoomed : -1);
  }

  wide(frame) {
    return this.raw[this.side()][frame];
  }

  whole() {
    return this.roots.reduce((sum, root) => sum + this.wide(root), 0);
  }

  change(frame) {
    return this.raw.after[frame] - this.raw.before[frame];
  }

  look(frame) {
    const all = this.roots.reduce((sum, root) => sum + this.raw.before[root], 0) || this.whole() || 1;
    const part = Math.abs(this.change(frame)) / all;
    const level = changeLevels.filter((least) => part >= least).length;
    if (!level) return 'bar-same';
    return `bar-${this.change(frame) > 0 ? 'more' : 'less'}-${level}`;
  }

  written(frame) {
    const change = this.look(frame) === 'bar-same' ? '' : ` ${signedDuration(this.change(frame))}`;
    return texts[this.raw.name[frame]] + change;
  }

  facts(frame) {
    const { before, after } = this.raw;
    return [
      ['before', duration(before[frame])],
      ['after', duration(after[frame])],
      ['change', signedDuration(this.change(frame))],
    ];
  }

  tell(frame) {
    if (frame >= 0) return super.tell(frame);
    const help = 'Point at a bar to see its time before and after; click it, or press Enter, to zoom.';
    return this.details.replaceChildren(element('p', { class: 'none' }, help));
  }
}

/** `+1.20 us` */
function signedDuration(ns) {
  return `${ns > 0 ? '+' : ''}${duration(ns)}`;
}
