// Puts the parts into the page.

// First: the tables ask it what it knows.
if (data.timeline) timelineView(document.querySelector('[data-timeline]'), data.timeline);
for (const place of document.querySelectorAll('[data-table]')) {
  const table = data.tables[place.dataset.table];
  if (table) place.append(tableView(place.dataset.table, table));
  else if (place.dataset.else) place.append(element('p', { class: 'absent' }, place.dataset.else));
}
if (data.tables.tree) treeView(document.querySelector('[data-tree]'), data.tables.tree);
if (data.flame) flameView(document.querySelector('[data-flame]'), data.flame);
if (data.roofline.points.length) rooflineView(document.querySelector('[data-roofline]'), data.roofline);

// One of two tables about the same.
for (const choice of document.querySelectorAll('[data-choice]')) {
  const buttons = [...choice.querySelectorAll('button')];
  if (!buttons.every((button) => data.tables[button.dataset.show])) continue;
  const places = buttons.map((button) => document.querySelector(`[data-table="${button.dataset.show}"]`));
  const show = (chosen) =>
    buttons.forEach((button, at) => {
      button.setAttribute('aria-pressed', String(at === chosen));
      places[at].hidden = at !== chosen;
    });
  buttons.forEach((button, at) => button.addEventListener('click', () => show(at)));
  choice.hidden = false;
  show(0);
}

for (const button of document.querySelectorAll('button[data-theme]')) {
  button.addEventListener('click', () => {
    chosen = button.dataset.theme;
    theme(chosen);
  });
}
// Paper is white.
addEventListener('beforeprint', () => theme('light'));
addEventListener('afterprint', () => theme(chosen));
dark.addEventListener('change', () => themed.forEach((tell) => tell()));

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.addEventListener('click', async () => {
    const done = await copy(button.parentElement.querySelector('code').textContent);
    button.textContent = done ? 'copied' : 'select and copy';
    say(done ? 'copied' : 'copying is not allowed here');
    setTimeout(() => {
      button.textContent = 'copy';
    }, 2000);
  });
}
for (const button of document.querySelectorAll('button[data-find]')) {
  if (find) button.addEventListener('click', () => find(button.dataset.find));
  else button.disabled = true;
}
