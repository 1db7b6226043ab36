// The tree of regions: a bar for the time on the GPU or on the host, and one for what the
// devices did meanwhile. A branch opens and closes.

const openDepth = 3;
const mostOpen = 200;

function treeView(place, tree) {
  const rows = tree.name.length;
  if (!rows) return;
  const children = Array.from({ length: rows }, () => []);
  const roots = [];
  for (let row = 0; row < rows; row += 1) (tree.parent[row] < 0 ? roots : children[tree.parent[row]]).push(row);
  const gpu = tree.gpu.some((ns) => ns > 0);
  const [inclusive, own] = gpu ? [tree.gpu, tree.ownGpu] : [tree.wall, tree.ownWall];
  const largest = Math.max(1, ...inclusive);
  const whole = (row) => (tree.stack[row] ?? []).reduce((sum, ns) => sum + ns, 0);
  const busiest = Math.max(1, ...tree.stack.map((_, row) => whole(row)));
  const closed = new Set();
  // Deep or wide trees start with their upper floors.
  const depth = [];
  for (let row = 0; row < rows; row += 1) {
    depth[row] = tree.parent[row] < 0 ? 0 : depth[tree.parent[row]] + 1;
    if (children[row].length && (depth[row] >= openDepth || (rows > mostOpen && depth[row] >= 1))) closed.add(row);
  }

  const body = element('tbody');
  function timeBar(row) {
    const bar = drawn('svg', {
      class: 'own',
      viewBox: '0 0 1000 10',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    });
    bar.append(drawn('rect', { class: 'time-inclusive', width: (inclusive[row] / largest) * 1000, height: 10 }));
    bar.append(drawn('rect', { class: 'time-own', width: (own[row] / largest) * 1000, height: 10 }));
    return bar;
  }
  function line(row) {
    const name = texts[tree.name[row]];
    const path = texts[tree.path[row]];
    const label = element('span', { class: 'short', title: path, 'aria-hidden': 'true' }, name);
    const head = element('th', { scope: 'row', class: 'name' });
    for (let level = 0; level < depth[row]; level += 1) head.append(element('i', { class: 'indent' }));
    if (children[row].length) {
      const open = !closed.has(row);
      const button = element(
        'button',
        { type: 'button', class: 'fold', 'aria-expanded': String(open) },
        open ? '▾' : '▸',
      );
      button.setAttribute('aria-label', `inner regions of ${name}`);
      button.addEventListener('click', () => toggle(row));
      head.append(button);
    } else {
      head.append(element('i', { class: 'leaf' }));
    }
    head.append(label, element('span', { class: 'unseen' }, path));
    if (tree.started[row]) head.append(element('span', { class: 'tag' }, 'start/end'));
    if (tree.open[row]) head.append(element('span', { class: 'tag' }, `${count(tree.open[row])} never ended`));
    if (find && find.knows(path)) head.append(findButton(path, name));
    const cells = [
      head,
      element('td', { class: 'num' }, count(tree.instances[row])),
      element('td', { class: 'num' }, duration(tree.wall[row])),
    ];
    if (gpu) cells.push(element('td', { class: 'num' }, duration(tree.gpu[row])));
    cells.push(element('td', { class: 'num' }, duration(own[row])), element('td', { class: 'bars' }, timeBar(row)));
    if (gpu) {
      const stack = tree.stack[row];
      const idle = element('td', { class: 'bars' });
      const busy = element('td', { class: 'num' });
      if (stack && whole(row) > 0) {
        idle.append(stackBar(stack, busiest, stackText(stack)));
        busy.append(percent(stack[0] / whole(row)));
      }
      cells.push(idle, busy);
    }
    const made = element('tr', {}, ...cells);
    made.dataset.row = row;
    return made;
  }
  function toggle(row) {
    if (closed.has(row)) closed.delete(row);
    else closed.add(row);
    fill();
    body.querySelector(`[data-row="${row}"] .fold`)?.focus();
  }
  function fill() {
    const lines = [];
    const add = (row) => {
      lines.push(line(row));
      if (!closed.has(row)) children[row].forEach(add);
    };
    roots.forEach(add);
    body.replaceChildren(...lines);
  }
  fill();

  const title = (text, number, help) =>
    element('th', { scope: 'col', class: number ? 'num' : null, title: help }, text);
  const titles = [title('region'), title('instances', true), title('host', true, 'total of all instances')];
  if (gpu) titles.push(title('GPU', true, 'kernels, including those of inner regions'));
  titles.push(
    title('own', true, 'without inner regions'),
    title(gpu ? 'GPU time: own and inner' : 'host time: own and inner'),
  );
  if (gpu) titles.push(title('GPU: busy and idle'), title('busy', true, 'of busy and idle time'));
  const all = (open) => () => {
    closed.clear();
    if (!open)
      children.forEach((below, row) => {
        if (below.length) closed.add(row);
      });
    fill();
  };
  const tools = element(
    'div',
    { class: 'tools' },
    element('h3', {}, 'Region tree'),
    element('button', { type: 'button', onclick: all(true) }, 'open all'),
    element('button', { type: 'button', onclick: all(false) }, 'close all'),
  );
  const legend = element(
    'ul',
    { class: 'legend' },
    element('li', {}, gpu ? 'GPU time:' : 'host time:'),
    element('li', {}, element('i', { class: 'swatch time-own' }), 'own'),
    element('li', {}, element('i', { class: 'swatch time-inclusive' }), 'inner regions'),
  );
  if (gpu) legend.append(element('li', {}, 'GPU:'), ...stackLegend(tree.stack).children);
  place.append(
    element(
      'div',
      { class: 'table' },
      tools,
      legend,
      element(
        'div',
        { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'region tree' },
        element(
          'table',
          { class: 'data tree' },
          element('caption', { class: 'unseen' }, 'Region tree'),
          element('thead', {}, element('tr', {}, ...titles)),
          body,
        ),
      ),
    ),
  );
  if (tree.note) place.append(element('p', { class: 'note' }, tree.note));
}
