// What every page can do: colors, copying, finding.

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
for (const link of document.querySelectorAll('a[data-rows]')) {
  if (!tableFilters.has(link.dataset.rows)) link.remove();
  // The same address once more is no change of it.
  else link.addEventListener('click', () => setTimeout(linkedRows));
}
linkedRows();
addEventListener('hashchange', linkedRows);
for (const button of document.querySelectorAll('button[data-find]')) {
  if (find) button.addEventListener('click', () => find(button.dataset.find));
  else button.disabled = true;
}
