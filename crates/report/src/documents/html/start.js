// Puts the parts into the page.

// First: the tables ask it what it knows.
if (data.timeline) find = timelineView(document.querySelector('[data-timeline]'), data.timeline).find;
drawTables();
if (data.tables.tree) treeView(document.querySelector('[data-tree]'), data.tables.tree);
for (const place of document.querySelectorAll('[data-icicle]')) {
  const bars = data.icicles[place.dataset.icicle];
  if (bars) flameView(place, new IcicleView(place, bars));
}
const flame = document.querySelector('[data-flame]');
if (data.flame) flameView(flame, new FlameView(flame, data.flame));
if (data.roofline.points.length) rooflineView(document.querySelector('[data-roofline]'), data.roofline);

// One of two tables about the same.
for (const choice of document.querySelectorAll('[data-choice]')) {
  const buttons = [...choice.querySelectorAll('button')];
  if (!buttons.every((button) => data.tables[button.dataset.show])) continue;
  const places = buttons.map(({ dataset: { show } }) =>
    document.querySelectorAll(`[data-table="${show}"], [data-icicle="${show}"]`),
  );
  const show = (chosen) =>
    buttons.forEach((button, at) => {
      button.setAttribute('aria-pressed', String(at === chosen));
      places[at].forEach((place) => {
        place.hidden = at !== chosen;
      });
    });
  buttons.forEach((button, at) => button.addEventListener('click', () => show(at)));
  choice.hidden = false;
  show(0);
}
