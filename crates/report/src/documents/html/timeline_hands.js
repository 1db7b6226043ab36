// What mouse, fingers and keys do to the timeline.

/** Listens to everything; returns what lies over the picture. */
function hands(it) {
  const tip = element('div', { class: 'tip', 'aria-hidden': 'true' });
  tip.hidden = true;
  const help = 'click first, or hold Ctrl, to zoom with the wheel';
  const hint = element('div', { class: 'hint', 'aria-hidden': 'true' }, help);
  const hover = hovering(it, tip);
  pointing(it, hover);
  wheeling(it, hint, hover);
  typing(it);
  choosing(it);
  it.scroller.addEventListener('scroll', it.redraw, { passive: true });
  return [tip, hint];
}

/** Where in the picture an event is. */
function placeIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** Shows the name of what is under the mouse; without a place, hides it. */
function hovering(it, tip) {
  return (x, y) => {
    const piece = x === undefined ? null : it.pieceUnder(x, y);
    const before = it.hovered;
    const same = piece === before || (piece && before && piece.lane === before.lane && piece.at === before.at);
    it.hovered = piece;
    tip.hidden = !piece;
    if (!same) it.redraw();
    if (!piece) return;
    if (!same) {
      const { title, facts } = describe(it.timeline, piece.lane, piece.at, it.view.zero);
      const lines = facts.slice(0, 3).map(([name, text]) => element('span', {}, `${name}: ${text}`));
      tip.replaceChildren(element('b', {}, title), ...lines);
    }
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    tip.style.left = `${Math.max(4, Math.min(it.width - wide - 4, x + 14))}px`;
    tip.style.top = `${y + 18 + high > it.height ? y - high - 10 : y + 18}px`;
  };
}

function pointing(it, hover) {
  const { canvas, scroller } = it;
  const pointers = new Map();
  let moved = 0;
  // Where a stretch of time begins that is being chosen.
  let first = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const { x, y } = placeIn(canvas, event);
    const chooses = event.pointerType !== 'touch' && x >= it.left && (event.shiftKey || y < axisHeight);
    first = chooses ? it.timeAt(x) : null;
    pointers.set(event.pointerId, placeIn(canvas, event));
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    scroller.focus({ preventScroll: true });
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = placeIn(canvas, event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== 'touch') hover(now.x, now.y);
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (first !== null) {
      if (moved > 3) it.choose(first, it.timeAt(Math.max(it.left, now.x)), true);
      pointers.set(event.pointerId, now);
      hover();
      return;
    }
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      // Two fingers: what lay between them stays between them.
      const [was, is] = [before, now].map((place) => Math.max(8, Math.abs(place.x - other.x)));
      it.zoom(was / is, it.timeAt((before.x + other.x) / 2));
      it.pan(((before.x - now.x) / 2) * it.perPixel());
    } else if (moved > 3) {
      it.pan((before.x - now.x) * it.perPixel());
      // A finger scrolls by itself.
      if (event.pointerType !== 'touch') scroller.scrollTop += before.y - now.y;
      hover();
    }
    pointers.set(event.pointerId, now);
  });
  const release = (event) => {
    const last = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (first !== null && last && moved > 3) it.choose(first, it.timeAt(Math.max(it.left, last.x)));
    first = null;
    if (event.type === 'pointerup' && last && moved <= 3) it.select(it.pieceUnder(last.x, last.y));
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => hover());
  canvas.addEventListener('dblclick', (event) => {
    const { x, y } = placeIn(canvas, event);
    const piece = it.pieceUnder(x, y);
    if (piece) it.showPiece(piece, 0.2);
  });
}

function wheeling(it, hint, hover) {
  const { canvas, scroller } = it;
  let hinted = 0;
  const turned = (event) => {
    const unit = event.deltaMode === 1 ? 16 : 1;
    const [right, down] = [event.deltaX * unit, event.deltaY * unit];
    if (event.shiftKey || Math.abs(right) > Math.abs(down)) {
      event.preventDefault();
      it.pan((right || down) * it.perPixel());
    } else if (event.ctrlKey || event.metaKey || document.activeElement === scroller) {
      event.preventDefault();
      // Two fingers on a pad come as a wheel with Ctrl, in smaller steps.
      const step = Math.max(-120, Math.min(120, down)) / (event.ctrlKey ? 120 : 300);
      it.zoom(Math.exp(step), it.timeAt(Math.max(it.left, placeIn(canvas, event).x)));
      hover();
    } else {
      // The page scrolls on: a wheel that comes by is not meant for the timeline.
      hint.classList.add('on');
      clearTimeout(hinted);
      hinted = setTimeout(() => hint.classList.remove('on'), 1200);
    }
  };
  scroller.addEventListener('wheel', turned, { passive: false });
}

function typing(it) {
  const { timeline, view } = it;
  const part = (event) => (view.to - view.from) / (event.shiftKey ? 2 : 8);
  const moves = {
    ArrowLeft: (event) => it.pan(-part(event)),
    ArrowRight: (event) => it.pan(part(event)),
    a: (event) => it.pan(-part(event)),
    d: (event) => it.pan(part(event)),
    w: () => it.zoom(0.7),
    s: () => it.zoom(1 / 0.7),
    m: () => it.choose(view.from, view.to),
    Home: () => it.pan(-timeline.span),
    End: () => it.pan(timeline.span),
    '+': () => it.zoom(0.7),
    '=': () => it.zoom(0.7),
    '-': () => it.zoom(1 / 0.7),
    0: () => it.fit(),
    Enter: () => {
      if (it.selected) it.showPiece(it.selected, 0.2);
      else if (it.span) it.show(it.span.from, it.span.to);
    },
  };
  const steps = {
    '[': () => it.stepThrough(-1),
    ']': () => it.stepThrough(1),
    ',': () => it.changeTrack(-1),
    '.': () => it.changeTrack(1),
    Escape: () => it.select(null),
  };
  it.scroller.addEventListener('keydown', (event) => {
    const act = moves[event.key] ?? steps[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
    if (moves[event.key]) say(`from ${duration(view.from - view.zero)} to ${duration(view.to - view.zero)}`);
  });
}

/** The strip above: a place in the whole span. */
function choosing(it) {
  const { timeline, view, whole } = it;
  let dragging = false;
  const centre = (event) => {
    const share = (placeIn(whole, event).x - it.left) / (it.width - it.left);
    const half = (view.to - view.from) / 2;
    it.show(share * timeline.span - half, share * timeline.span + half);
  };
  whole.addEventListener('pointerdown', (event) => {
    dragging = true;
    whole.setPointerCapture(event.pointerId);
    centre(event);
  });
  whole.addEventListener('pointermove', (event) => {
    if (dragging) centre(event);
  });
  for (const end of ['pointerup', 'pointercancel']) {
    whole.addEventListener(end, () => {
      dragging = false;
    });
  }
}
