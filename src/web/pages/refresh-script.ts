/**
 * Runs in the browser, on every page. Reloads the page and replaces `main`, unless the user is typing or has selected text
 * there, and shows when the agent does not answer. Auto-updating content needs a way to pause it (WCAG 2.2.2): the button.
 */
export const REFRESH_SCRIPT = `
const EVERY_MS = 10000;
const holder = document.getElementById('refresh');
const state = document.createElement('span');
const button = document.createElement('button');
button.type = 'button';
let isPaused = false;
const show = () => { button.textContent = isPaused ? 'Refresh again' : 'Pause refreshing'; };
button.addEventListener('click', () => { isPaused = !isPaused; show(); });
show();
state.setAttribute('role', 'status');
holder.append(state, ' ', button);
const zoneButton = document.createElement('button');
zoneButton.type = 'button';
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ZONE_KEY = 'router-exporter-zone';
// A browser may refuse to store anything.
const read = () => { try { return localStorage.getItem(ZONE_KEY); } catch { return null; } };
const write = (value) => { try { localStorage.setItem(ZONE_KEY, value); } catch {} };
let isLocal = read() === 'local';
const translate = (root) => {
  for (const node of root.querySelectorAll('time[datetime]')) {
    const date = new Date(node.dateTime);
    if (!Number.isFinite(date.getTime())) continue;
    node.dataset.utc ??= node.textContent;
    // In this language dates are written as on the pages.
    const local = date.toLocaleString('sv-SE', { timeZone: zone });
    node.title = isLocal ? local + ' ' + zone : node.dateTime;
    const { utc } = node.dataset;
    if (/^\\d{4}-\\d\\d-\\d\\d /.test(utc)) node.textContent = isLocal ? local : utc;
    if (/^\\d{4}-\\d\\d-\\d\\d$/.test(utc)) node.textContent = isLocal ? local.slice(0, 10) : utc;
    if (/^\\d\\d:\\d\\d(:\\d\\d)?$/.test(utc)) node.textContent = isLocal ? local.slice(11, 11 + utc.length) : utc;
  }
};
const showZone = () => {
  zoneButton.textContent = isLocal ? 'Show times in UTC' : 'Show times in my zone (' + zone + ')';
  document.getElementById('times').textContent = isLocal ? 'Times of pages are in ' + zone + '.' : 'All times are UTC.';
};
zoneButton.addEventListener('click', () => {
  isLocal = !isLocal;
  write(isLocal ? 'local' : 'utc');
  showZone();
  translate(document.querySelector('main'));
});
showZone();
if (isLocal || zone !== 'UTC') document.getElementById('zone').append(zoneButton);
translate(document.querySelector('main'));
const isBusy = () => {
  const main = document.querySelector('main');
  const active = document.activeElement;
  const selection = getSelection();
  const isChanged = (select) => [...select.options].some((option) => option.selected !== option.defaultSelected) &&
    (select.selectedIndex > 0 || [...select.options].some((option) => option.defaultSelected));
  return (active?.tagName === 'INPUT' && active.value !== active.defaultValue) ||
    [...main.querySelectorAll('select')].some(isChanged) ||
    (!selection.isCollapsed && main.contains(selection.anchorNode));
};
const keyOf = (node) => node.id || node.getAttribute('href') || (node.tagName === 'SUMMARY' && node.parentNode.id) || '';
const replace = (next) => {
  const main = document.querySelector('main');
  translate(next);
  if (main.innerHTML === next.innerHTML) return;
  const active = main.contains(document.activeElement) ? document.activeElement : null;
  const caret = active?.selectionStart;
  const open = new Map([...main.querySelectorAll('details')].map((details, index) => [details.id || index, details.open]));
  const shifts = [...main.querySelectorAll('.scroll')].map((area) => area.scrollLeft);
  main.replaceChildren(...next.childNodes);
  main.querySelectorAll('details').forEach((details, index) => { details.open = open.get(details.id || index) ?? details.open; });
  main.querySelectorAll('.scroll').forEach((area, index) => { area.scrollLeft = shifts[index] ?? 0; });
  if (!active) return;
  const same = [...main.querySelectorAll(active.tagName)].find((node) => keyOf(node) === keyOf(active));
  same?.focus({ preventScroll: true });
  if (typeof caret === 'number') same?.setSelectionRange(caret, caret);
};
const refresh = async () => {
  if (isPaused || document.hidden || isBusy()) return;
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(EVERY_MS) });
    // An error page such as "No such router" is a page, too.
    if (!answer.headers.get('content-type')?.startsWith('text/html')) throw new Error(answer.statusText);
    const text = await answer.text();
    if (isPaused || isBusy()) return;
    replace(document.importNode(new DOMParser().parseFromString(text, 'text/html').querySelector('main'), true));
    state.textContent = '';
  } catch {
    state.textContent ||= 'The agent has not answered since ' + new Date().toLocaleTimeString() + '.';
  }
};
const repeat = () => { setTimeout(async () => { await refresh(); repeat(); }, EVERY_MS); };
repeat();
`;
