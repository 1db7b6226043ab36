// Time as bars inside bars: regions, operators and kernels, or what idle devices wait for.

const barKinds = {
  region: 'region',
  operator: 'operator',
  kernel: 'kernel or graph',
  transfer: 'copy or fill',
};

class IcicleView extends FlameView {
  constructor(place, raw) {
    place.prepend(element('h3', { class: 'apart' }, place.dataset.label));
    super(place, raw);
  }

  tools() {
    const legend = element('ul', { class: 'legend' });
    const shown = new Set(this.raw.kind);
    for (const kind of shown) {
      const name = barKinds[kind] ?? (causes.includes(kind) ? kind : null);
      if (name) legend.append(element('li', {}, element('i', { class: `swatch ${this.colour(kind)}` }), name));
    }
    return [legend];
  }

  colour(kind) {
    return causes.includes(kind) ? causeClass(causes.indexOf(kind)) : `bar-${kind}`;
  }

  look(frame) {
    return this.colour(this.raw.kind[frame]);
  }

  whole() {
    return this.roots.reduce((sum, root) => sum + this.raw.of[root], 0);
  }

  written(frame) {
    return texts[this.raw.name[frame]];
  }

  facts(frame) {
    const { of, activities, caller } = this.raw;
    const facts = [[this.bars.parentElement.dataset.of, duration(of[frame])]];
    const share = (whole) => percent(whole > 0 ? of[frame] / whole : 0);
    facts.push(['of all', share(this.whole())]);
    if (caller[frame] >= 0) facts.push([`of ${texts[this.raw.name[caller[frame]]]}`, share(of[caller[frame]])]);
    if (activities[frame]) {
      facts.push(['count', count(activities[frame])], ['mean', duration(of[frame] / activities[frame])]);
    }
    return facts;
  }

  tell(frame) {
    if (frame < 0) {
      const { leftOut } = this.raw;
      const more = leftOut ? ` ${counted(leftOut, 'bar')} with the least time ${leftOut === 1 ? 'is' : 'are'} not shown.` : '';
      const help = `Point at a bar to see its time; click it, or press Enter, to zoom.${more}`;
      return this.details.replaceChildren(element('p', { class: 'none' }, help));
    }
    super.tell(frame);
    const full = texts[this.raw.place[frame]];
    const name = this.details.querySelector('.name');
    if (full && find && find.knows(full)) name.append(findButton(full, this.written(frame)));
    return undefined;
  }
}
