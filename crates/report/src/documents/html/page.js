// Shared by all parts of the page: the data, elements, colors, screen-reader announcements.

const data = JSON.parse(document.getElementById('data').textContent);
/** Every text of the page; the rest of the data refers to it by number. */
const texts = data.texts;

/** An element. Children that are not elements become text, whatever they contain. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

/** Our own sentences: text between backticks is code. */
function prose(text) {
  const parts = text.split('`');
  return parts.length % 2 ? parts.map((part, at) => (at % 2 ? element('code', {}, part) : part)) : [text];
}

function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(document.getElementById('vector').namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A button that shows a sign and is called by a name. */
function signButton(sign, label, act) {
  return element('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, sign);
}

/** For screen readers. */
function say(text) {
  document.getElementById('said').textContent = text;
}

/** Busy time and idle causes, in the order of the data. */
const causes = ['busy', 'host', 'sync', 'copy', 'launch', 'true gap', 'unknown'];
const causeClass = (at) => `cause-${causes[at].replace(' ', '-')}`;

/** One bar for busy time and idle causes: `scale` is what the whole width stands for. */
function stackBar(stack, scale, label) {
  const bar = element('span', { class: 'stack', role: 'img', 'aria-label': label, title: label });
  stack.forEach((ns, at) => {
    if (ns <= 0) return;
    // A part with enough room shows its name.
    const part = element('i', { class: causeClass(at) }, ns / scale >= 0.1 ? element('span', {}, causes[at]) : '');
    part.style.width = `${(ns / scale) * 100}%`;
    bar.append(part);
  });
  return bar;
}

/** `busy 12.0 %, host 80.1 %, …` */
function stackText(stack) {
  const whole = stack.reduce((sum, ns) => sum + ns, 0) || 1;
  const parts = stack.map((ns, at) => [causes[at], ns / whole]).filter(([, share]) => share > 0);
  return parts.map(([cause, share]) => `${cause} ${percent(share)}`).join(', ');
}

/** What the colors of the bars mean, for those that occur. */
function stackLegend(stacks) {
  const list = element('ul', { class: 'legend' });
  causes.forEach((cause, at) => {
    if (stacks.some((stack) => stack && stack[at] > 0)) {
      list.append(element('li', {}, element('i', { class: `swatch ${causeClass(at)}` }), cause));
    }
  });
  return list;
}

/** Runs `work` once before the next frame, however often it is requested. */
function soon(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/** Called when the colors change. */
const themed = [];
const dark = matchMedia('(prefers-color-scheme: dark)');

/** `auto`, `light` or `dark`, as the buttons have it. */
let chosen = 'auto';

function theme(wanted) {
  const root = document.documentElement;
  if (wanted === 'auto') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', wanted);
  for (const button of document.querySelectorAll('button[data-theme]')) {
    button.setAttribute('aria-pressed', String(button.dataset.theme === wanted));
  }
  themed.forEach((tell) => tell());
}

/** A color of the current style, for a canvas. */
function colourNow(name) {
  const probe = document.getElementById('vector');
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** The clipboard if available; a page from disk may have to use the old API. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element('textarea', { class: 'unseen', 'aria-hidden': 'true', readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** Shows a name in the timeline: set by the timeline, if there is one. */
let find = null;
