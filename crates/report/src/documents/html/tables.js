// Tables with sorting, filtering and paging. A column says how it is shown; nothing here knows
// what a table is about.

const kinds = {
  count,
  time: duration,
  percent: (value) => percent(value / 100),
  part: percent,
  share: percent,
  bytes,
  rate: (value) => `${bytes(value)}/s`,
  speed: (value) => bytes(value, 'FLOP/s'),
  number,
  times: (value) => `${number(value)} x`,
};
const isText = (column) => column.kind === 'text' || column.kind === 'name';
const sizes = [15, 100, 1000];

/** What a row is compared by. */
function sortValue(column, row) {
  const value = column.values[row];
  if (isText(column)) return texts[value].toLowerCase();
  if (column.kind === 'stack') return value.reduce((sum, ns) => sum + ns, 0);
  return value;
}

/** Rows sorted by a column; rows without a value always come last. */
function ordered(rows, column, descending) {
  const way = descending ? -1 : 1;
  const keyed = rows.map((row) => [sortValue(column, row), row]);
  keyed.sort(([a, first], [b, second]) => {
    const none = (a === null || a === '') - (b === null || b === '');
    return none || (a < b ? -way : a > b ? way : first - second);
  });
  return keyed.map(([, row]) => row);
}

/** A crosshair: shows where something is. Not every font has such a character. */
function findButton(name, what) {
  const sign = drawn('svg', { viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true' });
  sign.append(drawn('circle', { cx: 6, cy: 6, r: 3.5 }), drawn('path', { d: 'M6 0v4M6 8v4M0 6h4M8 6h4' }));
  const button = signButton(sign, `show ${what} in the timeline`, () => find(name));
  button.className = 'find';
  return button;
}

/** Long names of one kind begin alike, and differ at their ends. */
function cutInside(name) {
  return name.length > 46 ? `${name.slice(0, 19)}…${name.slice(-26)}` : name;
}

function cell(column, row, absent, largest) {
  const value = column.values[row];
  if (column.kind === 'name') {
    const full = texts[(column.full ?? column.values)[row]];
    const label = cutInside(texts[value]);
    const short = element('span', { class: 'short', title: full }, label);
    // Equal short names are told apart by what follows them.
    const rest = column.twice.has(value) ? full.slice(full.indexOf(texts[value]) + texts[value].length) : '';
    if (rest) short.append(element('span', { class: 'rest' }, rest));
    const made = [short];
    if (full !== label) made.push(element('span', { class: 'full' }, full));
    if (column.find && find && find.knows(full)) made.push(findButton(full, texts[value]));
    return element('td', { class: 'name' }, ...made);
  }
  if (column.kind === 'text') {
    const none = texts[value] === absent ? 'none' : null;
    return element('td', { class: none }, texts[value]);
  }
  if (column.kind === 'stack') return element('td', { class: 'bars' }, stackBar(value, largest, stackText(value)));
  if (value === null) return element('td', { class: 'num none' }, absent);
  const made = element('td', { class: 'num' }, kinds[column.kind](value));
  if (column.kind === 'share') {
    const bar = drawn('svg', {
      class: 'share',
      viewBox: '0 0 100 4',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    });
    bar.append(drawn('rect', { class: 'back', width: 100, height: 4 }));
    bar.append(drawn('rect', { class: 'fill', width: Math.min(1, value) * 100, height: 4 }));
    made.append(bar);
  }
  return made;
}

/** A value as it is: numbers unrounded, names in full. */
function plainValue(column, row) {
  const value = column.values[row];
  if (isText(column)) return texts[(column.full ?? column.values)[row]];
  if (column.kind === 'stack') return value.join(' ');
  return value === null ? '' : String(value);
}

/** Every row that the filter leaves, in its order. */
function asCsv(columns, rows) {
  // What a spreadsheet would calculate stays text.
  const safe = (text) => (/^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+(e-?\d+)?$/i.test(text) ? `'${text}` : text);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells) => `${cells.map(quoted).join(',')}\n`;
  const head = line(columns.map((column) => column.title));
  return head + rows.map((row) => line(columns.map((column) => safe(plainValue(column, row))))).join('');
}

/** Rows as they are shown, for a comment or a chat. */
function asMarkdown(columns, rows, absent) {
  const shown = (column, row) => {
    const value = column.values[row];
    // Names may look like markup.
    if (isText(column)) return texts[value] && `\`${texts[value].replaceAll('`', "'")}\``;
    if (column.kind === 'stack') return stackText(value);
    return value === null ? absent : kinds[column.kind](value);
  };
  const line = (cells) => `| ${cells.map((text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |\n`;
  const head = line(columns.map((column) => column.title));
  const rule = line(columns.map((column) => (isText(column) ? '---' : '---:')));
  return head + rule + rows.map((row) => line(columns.map((column) => shown(column, row)))).join('');
}

/** Gives the reader a file; nothing leaves the machine. */
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  element('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Which columns are shown; the first one names the row, and stays. */
function columnChoice(columns, hidden, changed) {
  const list = element('div', { class: 'columns' });
  columns.forEach((column, at) => {
    if (at === 0) return;
    const box = element('input', { type: 'checkbox', checked: true });
    box.addEventListener('change', () => {
      if (box.checked) hidden.delete(at);
      else hidden.add(at);
      changed();
    });
    list.append(element('label', {}, box, ` ${column.title}`));
  });
  return element('details', { class: 'choice' }, element('summary', {}, 'columns'), list);
}

/** By table: shows the rows that contain a text. */
const tableFilters = new Map();
/** A table with fewer columns is narrow enough. */
const fewestChosen = 5;

/** What the address says: `#kernels=gemm` shows those rows. */
function linkedRows() {
  const found = /^#([\w-]+)=(.*)$/.exec(location.hash);
  const filtered = found && tableFilters.get(found[1]);
  if (!filtered) return;
  let text = found[2];
  try {
    text = decodeURIComponent(text);
  } catch {
    // It is no escaped text: as it is.
  }
  // Of two tables about the same, this one.
  document.querySelector(`[data-show="${found[1]}"]`)?.click();
  filtered(text);
}

/** A section's table with its controls. */
function tableView(id, table) {
  const { columns } = table;
  for (const column of columns) {
    const seen = new Set();
    column.twice = new Set(
      column.kind === 'name' ? column.values.filter((value) => seen.has(value) || !seen.add(value)) : [],
    );
  }
  const all = Array.from({ length: table.rows }, (_, row) => row);
  const state = { sorted: table.sorted, descending: true, filter: '', size: sizes[0], page: 0, rows: all, hidden: new Set() };
  const searched = all.map((row) =>
    columns
      .filter(isText)
      .map((column) => texts[(column.full ?? column.values)[row]])
      .join('\n')
      .toLowerCase(),
  );

  const heads = columns.map((column, at) => {
    const button = element('button', { type: 'button', title: column.help }, column.title);
    button.addEventListener('click', () => {
      // Numbers start with the largest, names with the first.
      state.descending = state.sorted === at ? !state.descending : !isText(column);
      state.sorted = at;
      state.page = 0;
      arrange();
      say(`sorted by ${column.title}, ${state.descending ? 'descending' : 'ascending'}`);
    });
    return element('th', { scope: 'col', class: isText(column) || column.kind === 'stack' ? null : 'num' }, button);
  });
  const body = element('tbody');
  const sheet = element(
    'table',
    { class: 'data', id: `table-${id}` },
    element('caption', { class: 'unseen' }, table.caption),
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );

  const filter = element('input', {
    type: 'search',
    placeholder: 'filter',
    'aria-label': `filter: ${table.caption}`,
  });
  filter.addEventListener('input', () => {
    state.filter = filter.value.trim().toLowerCase();
    state.page = 0;
    arrange();
  });
  const shown = element('span', { class: 'shown', role: 'status' });
  const step = (by, sign, label) => {
    const button = element('button', { type: 'button', 'aria-label': label }, sign);
    button.addEventListener('click', () => {
      state.page += by;
      fill();
    });
    return button;
  };
  const [back, on] = [step(-1, '‹', 'previous rows'), step(1, '›', 'next rows')];
  const size = element('select', { 'aria-label': 'rows per page' });
  for (const rows of sizes)
    if (rows === sizes[0] || rows < table.rows * 10) size.append(element('option', {}, String(rows)));
  size.addEventListener('change', () => {
    state.size = Number(size.value);
    state.page = 0;
    fill();
  });
  const tools = element('div', { class: 'tools' }, element('h3', {}, table.caption));
  tableFilters.set(id, (text) => {
    // A small table has none until then.
    if (text && !filter.isConnected) tools.querySelector('h3').after(filter);
    filter.value = text;
    filter.dispatchEvent(new Event('input'));
    view.scrollIntoView({ block: 'start' });
  });
  if (table.rows > 5) tools.append(filter);
  if (columns.some((column) => column.kind === 'name')) {
    const wrap = element('input', { type: 'checkbox' });
    wrap.addEventListener('change', () => sheet.classList.toggle('whole', wrap.checked));
    tools.append(element('label', {}, wrap, ' full names'));
  }
  tools.append(
    element(
      'span',
      { class: 'buttons' },
      signButton('CSV', `download ${table.caption} as CSV`, () => download(`${id}.csv`, asCsv(columns, state.rows))),
      signButton('copy', `copy ${table.caption} as Markdown`, async () => {
        const rows = state.rows.slice(state.page * state.size, (state.page + 1) * state.size);
        say((await copy(asMarkdown(shownOf((column) => column), rows, table.absent))) ? 'copied' : 'copying is not allowed here');
      }),
    ),
  );
  if (columns.length > fewestChosen) tools.append(columnChoice(columns, state.hidden, fill));
  if (table.rows > sizes[0])
    tools.append(element('span', { class: 'pager' }, shown, back, on, element('label', {}, size, ' rows')));

  function arrange() {
    const rows = state.filter ? all.filter((row) => searched[row].includes(state.filter)) : all;
    state.rows = state.sorted === null ? rows : ordered(rows, columns[state.sorted], state.descending);
    heads.forEach((head, at) => {
      if (at === state.sorted) head.setAttribute('aria-sort', state.descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    fill();
  }

  function fill() {
    const pages = Math.max(1, Math.ceil(state.rows.length / state.size));
    state.page = Math.min(Math.max(0, state.page), pages - 1);
    const from = state.page * state.size;
    const rows = state.rows.slice(from, from + state.size);
    const largest = columns.map((column) =>
      column.kind === 'stack' ? Math.max(1, ...state.rows.slice(0, 1000).map((row) => sortValue(column, row))) : 0,
    );
    body.replaceChildren(
      ...rows.map((row) =>
        element('tr', {}, ...shownOf((column, at) => rowHead(cell(column, row, table.absent, largest[at]), at))),
      ),
    );
    heads.forEach((head, at) => {
      head.hidden = state.hidden.has(at);
    });
    if (!rows.length)
      body.append(
        element('tr', {}, element('td', { colspan: columns.length, class: 'none' }, 'no rows match the filter')),
      );
    const to = from + rows.length;
    shown.textContent = `${rows.length ? count(from + 1) : 0}–${count(to)} of ${count(state.rows.length)}`;
    back.disabled = state.page === 0;
    on.disabled = state.page >= pages - 1;
  }

  /** Of each column that is shown. */
  function shownOf(make) {
    return columns.map((column, at) => (state.hidden.has(at) ? null : make(column, at))).filter(Boolean);
  }

  /** The first cell names its row. */
  function rowHead(made, at) {
    if (at > 0) return made;
    const head = element('th', { scope: 'row', class: made.className || null });
    head.append(...made.childNodes);
    return head;
  }

  arrange();
  const view = element('div', { class: 'table' }, tools);
  const stack = columns.find((column) => column.kind === 'stack');
  if (stack) view.append(stackLegend(stack.values));
  view.append(element('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': table.caption }, sheet));
  for (const note of table.notes) view.append(element('p', { class: 'note' }, ...prose(note)));
  return view;
}

/** Into every place for a table. */
function drawTables() {
  for (const place of document.querySelectorAll('[data-table]')) {
    const table = data.tables[place.dataset.table];
    if (table) place.append(tableView(place.dataset.table, table));
    else if (place.dataset.else) place.append(element('p', { class: 'absent' }, place.dataset.else));
  }
}
