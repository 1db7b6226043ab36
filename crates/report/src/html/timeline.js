// The timeline in the page: what hand, keyboard and search do to it.

const shortest = 100;

function timelineView(place, raw) {
  const timeline = readTimeline(raw);
  const view = { from: 0, to: Math.max(1, timeline.span) };
  const kindNames = { gpu: 'GPU', regions: 'regions', operators: 'operators', calls: 'CUDA calls' };
  const present = (kind) => timeline.groups.some((group) => group.tracks.some((track) => track.kind === kind));
  const shown = Object.fromEntries(Object.keys(kindNames).map((kind) => [kind, present(kind)]));
  const state = { hovered: null, selected: null, matched: null, exact: null, rows: [], height: 0 };

  const canvas = element('canvas', { role: 'img', 'aria-label': place.dataset.label });
  const space = element('div', { class: 'space' });
  const scroller = element('div', {
    class: 'scroller', tabindex: '0', role: 'group', 'aria-roledescription': 'timeline',
    'aria-label': 'Timeline: arrow keys move, plus and minus zoom, 0 shows all, brackets step through events',
  }, canvas, space);
  const whole = element('canvas', { class: 'whole', 'aria-hidden': 'true' });
  const tip = element('div', { class: 'tip', 'aria-hidden': 'true' });
  const hint = element('div', { class: 'hint', 'aria-hidden': 'true' }, 'click first, or hold Ctrl, to zoom with the wheel');
  const details = element('div', { class: 'details', 'aria-live': 'polite' });
  const search = element('input', { type: 'search', placeholder: 'search names', 'aria-label': 'search the timeline' });
  const found = element('span', { class: 'shown', role: 'status' });
  const size = { width: 0, height: 0, left: 0, colours: null, font: '', letter: 6, busy: null };

  // ---- the picture

  const picture = () => ({
    timeline, view, colours: size.colours, font: size.font, letter: size.letter, left: size.left,
    width: size.width - size.left, height: size.height, scroll: scroller.scrollTop, rows: state.rows,
    hovered: state.hovered, selected: state.selected, matched: state.matched,
  });
  const redraw = soon(() => {
    drawTimeline(canvas.getContext('2d', { alpha: false }), picture());
    drawWhole();
  });

  function drawWhole() {
    const context = whole.getContext('2d', { alpha: false });
    const { colours, busy, left } = size;
    const [width, height] = [size.width - left, 30];
    context.fillStyle = colours.back;
    context.fillRect(0, 0, size.width, height);
    context.fillStyle = colours.of[0];
    for (let x = 0; x < width; x += 1) context.fillRect(left + x, height - busy[x] * (height - 4), 1, busy[x] * (height - 4));
    const [from, to] = [view.from, view.to].map((time) => left + (time / timeline.span) * width);
    context.fillStyle = colours.unseen;
    context.fillRect(left, 0, from - left, height);
    context.fillRect(to, 0, size.width - to, height);
    context.strokeStyle = colours.select;
    context.lineWidth = 1;
    context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
    if (left) {
      context.fillStyle = colours.muted;
      context.font = size.font;
      context.textBaseline = 'middle';
      context.fillText(present('gpu') ? 'GPU busy' : 'threads', 6, height / 2);
    }
  }

  function arrange() {
    const width = Math.floor(place.clientWidth) - 2;
    const left = width >= 700 ? 132 : 0;
    const { rows, height } = layout(timeline, shown, left);
    const seen = Math.max(120, Math.min(height + axisHeight, Math.round(innerHeight * 0.62)));
    Object.assign(state, { rows, height });
    const ratio = devicePixelRatio || 1;
    for (const [sheet, high] of [[canvas, seen], [whole, 30]]) {
      sheet.width = Math.round(width * ratio);
      sheet.height = Math.round(high * ratio);
      sheet.style.width = `${width}px`;
      sheet.style.height = `${high}px`;
      sheet.getContext('2d', { alpha: false }).scale(ratio, ratio);
    }
    scroller.style.height = `${seen}px`;
    space.style.height = `${Math.max(0, height + axisHeight - seen)}px`;
    const context = canvas.getContext('2d', { alpha: false });
    context.font = style('--t-font');
    Object.assign(size, {
      width, left, height: seen, colours: timelineColours(), font: context.font,
      letter: context.measureText('abcdefghij').width / 10, busy: overview(timeline, width - left),
    });
    redraw();
  }

  // ---- moving about

  function show(from, to) {
    const span = Math.min(Math.max(1, timeline.span), Math.max(shortest, to - from));
    const middle = (from + to) / 2;
    view.from = Math.min(Math.max(0, middle - span / 2), Math.max(0, timeline.span - span));
    view.to = view.from + span;
    redraw();
  }
  const pan = (time) => show(view.from + time, view.to + time);
  function zoom(factor, around = (view.from + view.to) / 2) {
    const span = Math.min(Math.max(1, timeline.span), Math.max(shortest, (view.to - view.from) * factor));
    const from = around - ((around - view.from) / (view.to - view.from)) * span;
    show(from, from + span);
  }
  const fit = () => show(0, timeline.span);
  const perPixel = () => (view.to - view.from) / (size.width - size.left);
  const timeAt = (x) => view.from + (x - size.left) * perPixel();

  /** Brings a piece into sight. */
  function reveal({ lane, at }) {
    const row = state.rows.find((candidate) => candidate.lane === lane);
    if (!row) return;
    const [begin, end] = [lane.begin[at], lane.end[at]];
    const span = view.to - view.from;
    if (end - begin > span) show(begin - (end - begin) * 0.1, end + (end - begin) * 0.1);
    else if (begin < view.from || end > view.to) show((begin + end - span) / 2, (begin + end + span) / 2);
    const top = scroller.scrollTop;
    if (row.y < top || row.y + laneHeight > top + size.height - axisHeight) scroller.scrollTop = row.y - size.height / 3;
  }

  function select(piece, toSee = true) {
    state.selected = piece;
    details.replaceChildren();
    if (piece) {
      const { title, full, facts } = describe(timeline, piece.lane, piece.at);
      details.append(element('p', { class: 'name' }, element('b', {}, title), full !== title && full ? ` ${full}` : ''));
      const list = element('dl');
      for (const [name, text] of facts) list.append(element('div', {}, element('dt', {}, name), element('dd', {}, text)));
      details.append(list);
      if (toSee) reveal(piece);
    } else {
      details.append(element('p', { class: 'none' }, 'Click an event, or step through them with [ and ], to see what it is.'));
    }
    redraw();
  }

  /** The next event of the lane, or the first in sight. */
  function stepThrough(by) {
    const rows = state.rows.filter((row) => row.lane);
    if (!rows.length) return;
    if (!state.selected) {
      const lane = rows[0].lane;
      return select({ lane, at: Math.min(lane.n - 1, firstBehind(lane, view.from)) });
    }
    const { lane, at } = state.selected;
    select({ lane, at: Math.min(lane.n - 1, Math.max(0, at + by)) });
  }

  // ---- search

  function match() {
    const wanted = search.value.trim().toLowerCase();
    const { label, full } = timeline.what;
    state.matched = null;
    found.textContent = '';
    if (wanted) {
      const fits = (id) => state.exact !== null ? texts[full[id]] === state.exact :
        texts[label[id]].toLowerCase().includes(wanted) || texts[full[id]].toLowerCase().includes(wanted);
      state.matched = Uint8Array.from(label, (_, id) => fits(id));
      const events = timeline.counts.reduce((sum, some, id) => sum + (state.matched[id] ? some : 0), 0);
      found.textContent = `${count(events)} found`;
    }
    redraw();
  }

  function nextMatch(by) {
    if (!state.matched) return;
    const from = state.selected ? state.selected.lane.begin[state.selected.at] : by > 0 ? -1 : Infinity;
    const visible = state.rows.filter((row) => row.lane).map((row) => row.lane);
    const nearest = (start) => {
      let best = null;
      for (const lane of visible) {
        for (let at = 0; at < lane.n; at += 1) {
          const [id, begin] = [lane.what[at], lane.begin[at]];
          if (id < 0 || !state.matched[id] || (begin - start) * by <= 0) continue;
          if (!best || (begin - best.lane.begin[best.at]) * by < 0) best = { lane, at };
        }
      }
      return best;
    };
    const next = nearest(from) ?? nearest(by > 0 ? -1 : Infinity);
    if (next) select(next);
  }

  const known = new Set(timeline.what.full.map((id) => texts[id]));
  find = (name) => {
    search.value = name;
    state.exact = known.has(name) ? name : null;
    match();
    select(null);
    nextMatch(1);
    document.getElementById('timeline').scrollIntoView({ block: 'start' });
    scroller.focus({ preventScroll: true });
  };
  find.knows = (name) => known.has(name);

  // ---- hands

  const pieceUnder = (x, y) => {
    if (x < size.left || y < axisHeight) return null;
    const level = y - axisHeight + scroller.scrollTop;
    const row = state.rows.find((candidate) => candidate.lane && level >= candidate.y && level < candidate.y + candidate.height);
    if (!row) return null;
    const at = pieceAt(row.lane, timeAt(x), perPixel() * 2);
    return at < 0 ? null : { lane: row.lane, at };
  };

  function hover(x, y) {
    const piece = x === null ? null : pieceUnder(x, y);
    const same = piece && state.hovered && piece.lane === state.hovered.lane && piece.at === state.hovered.at;
    if (!same && piece !== state.hovered) {
      state.hovered = piece;
      redraw();
    }
    tip.hidden = !piece;
    if (!piece) return;
    if (!same) {
      const { title, facts } = describe(timeline, piece.lane, piece.at);
      tip.replaceChildren(element('b', {}, title), ...facts.slice(0, 3).map(([name, text]) => element('span', {}, `${name}: ${text}`)));
    }
    const wide = tip.offsetWidth;
    tip.style.left = `${Math.max(4, Math.min(size.width - wide - 4, x + 14))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > size.height ? y - tip.offsetHeight - 10 : y + 18}px`;
  }

  const pointers = new Map();
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, at(event));
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    scroller.focus({ preventScroll: true });
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = at(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== 'touch') hover(now.x, now.y);
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      // Two fingers: what lay between them stays between them.
      const was = Math.max(8, Math.abs(before.x - other.x));
      const is = Math.max(8, Math.abs(now.x - other.x));
      zoom(was / is, timeAt((before.x + other.x) / 2));
      pan(((before.x - now.x) / 2) * perPixel());
    } else if (moved > 3) {
      pan((before.x - now.x) * perPixel());
      if (event.pointerType !== 'touch') scroller.scrollTop += before.y - now.y;
      hover(null);
    }
    pointers.set(event.pointerId, now);
  });
  const release = (event) => {
    const last = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (event.type === 'pointerup' && last && moved <= 3) select(pieceUnder(last.x, last.y), false);
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => hover(null));
  canvas.addEventListener('dblclick', (event) => {
    const piece = pieceUnder(at(event).x, at(event).y);
    if (!piece) return;
    const [begin, end] = [piece.lane.begin[piece.at], piece.lane.end[piece.at]];
    show(begin - (end - begin) * 0.2, end + (end - begin) * 0.2);
  });

  let hinted = 0;
  scroller.addEventListener('wheel', (event) => {
    const unit = event.deltaMode === 1 ? 16 : 1;
    const [right, down] = [event.deltaX * unit, event.deltaY * unit];
    if (event.shiftKey || Math.abs(right) > Math.abs(down)) {
      event.preventDefault();
      pan((event.shiftKey && !right ? down : right) * perPixel());
    } else if (event.ctrlKey || event.metaKey || document.activeElement === scroller) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-120, Math.min(120, down)) / (event.ctrlKey ? 120 : 300)), timeAt(Math.max(size.left, at(event).x)));
      hover(null);
    } else {
      // The page scrolls on: a wheel over the timeline is not yet meant for it.
      hint.classList.add('on');
      clearTimeout(hinted);
      hinted = setTimeout(() => hint.classList.remove('on'), 1200);
    }
  }, { passive: false });
  scroller.addEventListener('scroll', redraw, { passive: true });

  scroller.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const some = (view.to - view.from) / (event.shiftKey ? 2 : 8);
    const keys = {
      ArrowLeft: () => pan(-some), ArrowRight: () => pan(some), '+': () => zoom(0.7), '=': () => zoom(0.7),
      '-': () => zoom(1 / 0.7), 0: fit, Home: () => pan(-timeline.span), End: () => pan(timeline.span),
      '[': () => stepThrough(-1), ']': () => stepThrough(1), Escape: () => select(null),
      Enter: () => { if (state.selected) show(...[state.selected].map(({ lane, at: one }) => [lane.begin[one], lane.end[one]])[0]); },
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    if (event.key.length > 1 || '+=-0'.includes(event.key)) say(`from ${duration(view.from)} to ${duration(view.to)}`);
  });

  let dragging = false;
  const centre = (event) => {
    const time = ((event.clientX - whole.getBoundingClientRect().left - size.left) / (size.width - size.left)) * timeline.span;
    const half = (view.to - view.from) / 2;
    show(time - half, time + half);
  };
  whole.addEventListener('pointerdown', (event) => {
    dragging = true;
    whole.setPointerCapture(event.pointerId);
    centre(event);
  });
  whole.addEventListener('pointermove', (event) => { if (dragging) centre(event); });
  for (const end of ['pointerup', 'pointercancel']) whole.addEventListener(end, () => { dragging = false; });

  // ---- tools

  const button = (sign, label, act) => element('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, sign);
  const tools = element('div', { class: 'tools' },
    element('span', { class: 'buttons' },
      button('+', 'zoom in', () => zoom(0.5)), button('−', 'zoom out', () => zoom(2)), button('all', 'show all', fit),
      button('◂', 'move left', () => pan((view.from - view.to) / 4)), button('▸', 'move right', () => pan((view.to - view.from) / 4))),
    search, button('‹', 'match before', () => nextMatch(-1)), button('›', 'match after', () => nextMatch(1)), found);
  for (const [kind, name] of Object.entries(kindNames)) {
    if (!present(kind)) continue;
    const box = element('input', { type: 'checkbox' });
    box.checked = true;
    box.addEventListener('change', () => { shown[kind] = box.checked; arrange(); });
    tools.append(element('label', {}, box, ` ${name}`));
  }
  search.addEventListener('input', () => { state.exact = null; match(); });
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') nextMatch(event.shiftKey ? -1 : 1);
  });

  const legend = element('ul', { class: 'legend' });
  const entry = (name, colour) => legend.append(element('li', {}, element('i', { class: `swatch t-${colour}` }), name));
  timeline.families.forEach((name, at) => entry(texts[name], colourNames[at]));
  if (timeline.others) entry(timeline.families.length ? 'other kernels' : 'kernels', 'k6');
  const used = new Set(timeline.what.colour);
  [[7, 'copy'], [8, 'fill'], [9, 'graph'], [15, 'launch call'], [16, 'waiting call'], [17, 'copy call']]
    .forEach(([colour, name]) => { if (used.has(colour)) entry(name, colourNames[colour]); });

  place.append(tools, legend, whole, element('div', { class: 'stage' }, scroller, tip, hint), details);
  tip.hidden = true;
  select(null);
  themed.push(arrange);
  arrange();
  new ResizeObserver(soon(() => { if (Math.floor(place.clientWidth) - 2 !== size.width) arrange(); })).observe(place);
}
