// Names in the timeline: what is searched for stays bright, the rest is dimmed.

/** The box, its buttons and the number of matches. */
function searchTools(it) {
  const { timeline } = it;
  const search = element('input', { type: 'search', placeholder: 'search names' });
  search.setAttribute('aria-label', 'search the timeline');
  const found = element('span', { class: 'shown', role: 'status' });
  const { label, full } = timeline.what;
  const known = new Set(full.map((id) => texts[id]));

  function match(exact) {
    const wanted = search.value.trim().toLowerCase();
    const includes = (id) => texts[id].toLowerCase().includes(wanted);
    const fits = (_, id) =>
      exact === undefined ? includes(label[id]) || includes(full[id]) : texts[full[id]] === exact;
    it.matched = wanted ? Uint8Array.from(label, fits) : null;
    const events = timeline.counts.reduce((sum, some, id) => sum + (it.matched?.[id] ? some : 0), 0);
    found.textContent = it.matched ? `${count(events)} found` : '';
    it.redraw();
  }

  /** The match nearest to `start` on one side of it, in the lanes that are shown. */
  function nearest(start, by) {
    let best = null;
    for (const { lane } of it.rows) {
      for (let at = 0; lane && at < lane.n; at += 1) {
        const [id, begin] = [lane.what[at], lane.begin[at]];
        if (id < 0 || !it.matched[id] || (begin - start) * by <= 0) continue;
        if (!best || (begin - best.lane.begin[best.at]) * by < 0) best = { lane, at };
      }
    }
    return best;
  }

  function next(by) {
    if (!it.matched) return;
    const edge = by > 0 ? -1 : Infinity;
    const from = it.selected ? it.selected.lane.begin[it.selected.at] : edge;
    const piece = nearest(from, by) ?? nearest(edge, by);
    if (!piece) return;
    it.select(piece);
    it.reveal(piece);
  }

  it.find = (name) => {
    search.value = name;
    match(known.has(name) ? name : undefined);
    it.select(null);
    next(1);
    it.place.closest('section').scrollIntoView({ block: 'start' });
    it.scroller.focus({ preventScroll: true });
  };
  it.find.knows = (name) => known.has(name);

  search.addEventListener('input', () => match());
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
  });
  const steps = [signButton('‹', 'previous match', () => next(-1)), signButton('›', 'next match', () => next(1))];
  return [element('span', { class: 'search' }, search, ...steps), found];
}
