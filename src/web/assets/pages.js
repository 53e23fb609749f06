/**
 * Runs in the browser, on every page. Reloads the page and replaces `main`, unless the user is typing or has selected text there, and
 * shows when the agent does not answer. Auto-updating content needs a way to pause it (WCAG 2.2.2): the button.
 */
const EVERY_MS = 10000;
const holder = document.getElementById('refresh');
const silence = document.createElement('span');
const button = document.createElement('button');
button.type = 'button';
let isPaused = false;
const show = () => {
  button.textContent = isPaused ? 'Resume refreshing' : 'Pause refreshing';
};
button.addEventListener('click', () => {
  isPaused = !isPaused;
  show();
});
show();
silence.setAttribute('role', 'status');
holder.append(silence, ' ', button);
const zoneButton = document.createElement('button');
zoneButton.type = 'button';
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ZONE_KEY = 'router-exporter-zone';
// A browser may refuse to store anything.
const read = () => {
  try {
    return localStorage.getItem(ZONE_KEY);
  } catch {
    return null;
  }
};
const write = (value) => {
  try {
    localStorage.setItem(ZONE_KEY, value);
  } catch {}
};
let isLocal = read() === 'local';
const translate = (root) => {
  for (const text of root.querySelectorAll('text[data-at]')) {
    const date = new Date(text.dataset.at);
    if (Number.isFinite(date.getTime())) text.textContent = toClock(date);
  }
  for (const node of root.querySelectorAll('time[datetime]')) {
    const date = new Date(node.dateTime);
    if (!Number.isFinite(date.getTime())) continue;
    node.dataset.utc ??= node.textContent;
    // Swedish dates have the format of the pages.
    const local = date.toLocaleString('sv-SE', { timeZone: zone });
    node.title = isLocal ? `${local} ${zone}` : node.dateTime;
    const { utc } = node.dataset;
    if (/^\d{4}-\d\d-\d\d /.test(utc)) node.textContent = isLocal ? local : utc;
    if (/^\d{4}-\d\d-\d\d$/.test(utc)) node.textContent = isLocal ? local.slice(0, 10) : utc;
    if (/^\d\d:\d\d(:\d\d)?$/.test(utc)) node.textContent = isLocal ? local.slice(11, 11 + utc.length) : utc;
  }
};
const toClock = (date) =>
  (isLocal ? date.toLocaleTimeString('sv-SE', { timeZone: zone }) : date.toISOString().slice(11)).slice(0, 5);
const showZone = () => {
  zoneButton.textContent = isLocal ? 'Show times in UTC' : `Show times in my zone (${zone})`;
  document.getElementById('times').textContent = isLocal ? `Times of pages are in ${zone}.` : 'All times are UTC.';
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
  const isChanged = (select) =>
    [...select.options].some((option) => option.selected !== option.defaultSelected) &&
    (select.selectedIndex > 0 || [...select.options].some((option) => option.defaultSelected));
  return (
    (active?.tagName === 'INPUT' && active.value !== active.defaultValue) ||
    [...main.querySelectorAll('select')].some(isChanged) ||
    (!selection.isCollapsed && main.contains(selection.anchorNode))
  );
};
const keyOf = (node) =>
  node.id || node.getAttribute('href') || (node.tagName === 'SUMMARY' && node.parentNode.id) || '';
const replace = (next) => {
  const main = document.querySelector('main');
  translate(next);
  if (main.innerHTML === next.innerHTML) return;
  const active = main.contains(document.activeElement) ? document.activeElement : null;
  const caret = active?.selectionStart;
  const open = new Map(
    [...main.querySelectorAll('details')].map((details, index) => [details.id || index, details.open]),
  );
  const shifts = [...main.querySelectorAll('.scroll')].map((area) => area.scrollLeft);
  main.replaceChildren(...next.childNodes);
  main.querySelectorAll('details').forEach((details, index) => {
    details.open = open.get(details.id || index) ?? details.open;
  });
  main.querySelectorAll('.scroll').forEach((area, index) => {
    area.scrollLeft = shifts[index] ?? 0;
  });
  if (!active) return;
  const same = [...main.querySelectorAll(active.tagName)].find((node) => keyOf(node) === keyOf(active));
  same?.focus({ preventScroll: true });
  if (typeof caret === 'number') same?.setSelectionRange(caret, caret);
};
const refresh = async () => {
  if (isPaused || document.hidden || isBusy()) return;
  const answer = await fetch(location.href, { signal: AbortSignal.timeout(EVERY_MS) }).catch(() => null);
  // An error page such as "No such router" is a page, too.
  const isPage = answer?.headers.get('content-type')?.startsWith('text/html');
  const text = isPage ? await answer.text().catch(() => '') : '';
  const next = new DOMParser().parseFromString(text, 'text/html');
  const main = next.querySelector('main');
  if (!main) silence.textContent ||= `The agent has not answered since ${new Date().toLocaleTimeString()}.`;
  else if (!isPaused && !isBusy()) {
    replace(document.importNode(main, true));
    document.title = next.title;
    const [icon, nextIcon] = [document, next].map((one) => one.querySelector('link[rel=icon]'));
    if (icon.getAttribute('href') !== nextIcon.getAttribute('href')) icon.replaceWith(document.importNode(nextIcon));
    silence.textContent = '';
  }
};
const repeat = () => {
  setTimeout(async () => {
    await refresh();
    repeat();
  }, EVERY_MS);
};
repeat();

/* A chart says the value under the pointer. */
document.querySelector('main').addEventListener('pointermove', ({ target, clientX }) => {
  const chart = target.closest?.('svg[data-values]');
  if (!chart) return;
  const { left, right, start, step, values } = chart.dataset;
  const { x, width } = chart.getBoundingClientRect();
  const box = chart.viewBox.baseVal;
  const all = values.split('|');
  const share = (((clientX - x) / width) * box.width - left) / (box.width - left - right);
  const index = Math.round(Math.min(1, Math.max(0, share)) * (all.length - 1));
  const at = new Date(Date.parse(start) + index * step * 1000);
  const place = Number(left) + (index / Math.max(1, all.length - 1)) * (box.width - left - right);
  let line = chart.querySelector('.cursor');
  if (!line) {
    line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    line.setAttribute('class', 'cursor');
    chart.append(line);
  }
  line.setAttribute('d', `M${place} 0V${box.height}`);
  chart.parentNode.querySelector('span.cursor').textContent = ` At ${toClock(at)}: ${all[index] || 'no value'}.`;
});

/* Active only with `#live`. Follows new log lines (server-sent events) on a click, and buffers them while paused. */
const LIVE_MAX = 500;
const live = { source: null, isHeld: false, held: [], skipped: 0, node: null, text: '' };
const say = (text) => {
  live.text = text;
  const state = document.getElementById('live-state');
  if (state && state.textContent !== text) state.textContent = text;
};
const showLive = () => {
  const toggle = document.getElementById('live-toggle');
  if (!toggle) return;
  toggle.hidden = false;
  toggle.textContent = !live.source ? 'Follow live' : live.isHeld ? 'Resume' : 'Pause';
};
const putLine = (text) => {
  const list = document.querySelector('#live .lines');
  const line = new DOMParser().parseFromString(text, 'text/html').querySelector('li');
  if (!list || !line || list.querySelector(`[data-uid="${CSS.escape(line.dataset.uid)}"]`)) return;
  list.prepend(document.importNode(line, true));
  translate(list.firstChild);
  while (list.childElementCount > LIVE_MAX) list.lastElementChild.remove();
};
const stopLive = (text) => {
  live.source?.close();
  live.source = null;
  live.node = null;
  live.held = [];
  live.isHeld = false;
  say(text);
  showLive();
};
const loadLines = async () => {
  const answer = await fetch(location.href).catch(() => null);
  const text = answer?.ok ? await answer.text() : '';
  const lines = [...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('#live .lines > li[data-uid]')];
  // Oldest first; toReversed() is missing in browsers of 2022.
  while (lines.length > 0) putLine(lines.pop().outerHTML);
};
const sayFollowing = () =>
  say(
    (live.isHeld ? 'Paused.' : 'Following.') +
      (live.skipped > 0 ? ` ${live.skipped} lines left out: reload the page to see them.` : ''),
  );
const startLive = () => {
  live.node = document.getElementById('live');
  const source = new EventSource(live.node.dataset.stream);
  live.source = source;
  // Lines stored before the stream was open, or while it was interrupted.
  source.addEventListener('open', () => {
    sayFollowing();
    if (!live.isHeld) void loadLines();
  });
  source.addEventListener('line', ({ data }) => {
    if (!live.isHeld) return putLine(data);
    live.held.push(data);
    if (live.held.length > LIVE_MAX) live.held.shift();
    say(`Paused: ${live.held.length} new.`);
  });
  source.addEventListener('skipped', ({ data }) => {
    live.skipped += Number(data);
    sayFollowing();
  });
  source.addEventListener('cut', () => stopLive('Ended: this browser did not keep up.'));
  source.addEventListener('error', () => {
    if (source !== live.source) return;
    if (source.readyState === EventSource.CLOSED)
      stopLive('Not possible now: too many live readers, or the agent refused.');
    else say('Interrupted; reconnecting.');
  });
};
document.querySelector('main').addEventListener('click', ({ target }) => {
  if (target.id !== 'live-toggle') return;
  if (!live.source) startLive();
  else {
    live.isHeld = !live.isHeld;
    if (!live.isHeld) {
      for (const text of live.held.splice(0)) putLine(text);
    }
    if (live.isHeld) say('Paused.');
    else sayFollowing();
  }
  showLive();
});
// A refresh replaces the content of the page, and must keep the followed lines.
new MutationObserver(() => {
  const node = document.getElementById('live');
  if (live.node && node && node !== live.node) node.replaceWith(live.node);
  showLive();
}).observe(document.querySelector('main'), { childList: true });
showLive();
