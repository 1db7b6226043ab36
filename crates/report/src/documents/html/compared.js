// Puts the parts of a comparison into the page.

// First: the tables ask it what it knows.
const places = [...document.querySelectorAll('[data-timeline]')];
if (data.timelines) pairView(places, data.timelines, document.querySelector('[data-pair]'));
drawTables();
for (const place of document.querySelectorAll('[data-difference]')) {
  const raw = data.differences[place.dataset.difference];
  if (raw) flameView(place, new DifferenceView(place, raw));
}

