// Numbers for people: the twin of units.rs.

/** With `places` decimals. JavaScript rounds ties up, Rust to even. */
function fixed(value, places) {
  const rounded = value.toFixed(places);
  const [whole, rest] = value.toFixed(places + 20).split('.');
  const odd = Number(rounded.at(-1)) % 2 === 1;
  if (!odd || !/^50*$/.test(rest.slice(places))) return rounded;
  return places ? `${whole}.${rest.slice(0, places)}` : whole;
}

/** In the unit that leaves at most three digits before the decimal point. */
function duration(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${fixed(ns, 0)} ns`;
  if (size < 1e6) return `${fixed(ns / 1e3, 2)} us`;
  if (size < 1e9) return `${fixed(ns / 1e6, 2)} ms`;
  return `${fixed(ns / 1e9, 2)} s`;
}

/** `1.2 GB`; with another `unit`, the same for what is not bytes. */
function bytes(value, unit = 'B') {
  if (value < 1e3) return `${fixed(value, 0)} ${unit}`;
  if (value < 1e6) return `${fixed(value / 1e3, 1)} k${unit}`;
  if (value < 1e9) return `${fixed(value / 1e6, 1)} M${unit}`;
  if (value < 1e12) return `${fixed(value / 1e9, 1)} G${unit}`;
  return `${fixed(value / 1e12, 1)} T${unit}`;
}

/** A share; a small one is not shown as zero. */
function percent(share) {
  const value = share * 100;
  return value > 0 && value < 0.1 ? '<0.1 %' : `${fixed(value, 1)} %`;
}

/** With a comma at every thousand. */
function count(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** `1 event`, `3,400 events`. */
function counted(value, what) {
  return `${count(value)} ${what}${value === 1 ? '' : 's'}`;
}

/** A number of any size, with at most three decimals. */
function number(value) {
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e15)) return value.toExponential(2).replace('e+', 'e');
  const places = size % 1 === 0 || size >= 1e5 ? 0 : size >= 1e2 ? 1 : size >= 1 ? 2 : 3;
  const [whole, rest] = fixed(size, places).split('.');
  return (value < 0 ? '-' : '') + count(Number(whole)) + (rest ? `.${rest}` : '');
}
