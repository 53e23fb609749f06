/**
 * Runs in the browser, on every page; does something only where `#live` is. Follows lines of logs as they are
 * stored (server-sent events), at a click, and holds them while it is paused.
 */
export const LIVE_SCRIPT = `
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
  toggle.textContent = !live.source ? 'Follow live' : live.isHeld ? 'Go on' : 'Pause';
};
const putLine = (text) => {
  const list = document.querySelector('#live .lines');
  const line = new DOMParser().parseFromString(text, 'text/html').querySelector('li');
  if (!list || !line || list.querySelector('[data-uid="' + CSS.escape(line.dataset.uid) + '"]')) return;
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
  const lines = [...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('#live .lines > li')];
  for (const line of lines.reverse()) putLine(line.outerHTML);
};
const sayFollowing = () => say((live.isHeld ? 'Paused.' : 'Following.') +
  (live.skipped > 0 ? ' ' + live.skipped + ' lines left out: load the page again to see them.' : ''));
const startLive = () => {
  live.node = document.getElementById('live');
  const source = new EventSource(live.node.dataset.stream);
  live.source = source;
  // Lines that came before the stream was open, or while it was interrupted.
  source.addEventListener('open', () => { sayFollowing(); if (!live.isHeld) loadLines(); });
  source.addEventListener('line', ({ data }) => {
    if (!live.isHeld) return putLine(data);
    live.held.push(data);
    if (live.held.length > LIVE_MAX) live.held.shift();
    say('Paused: ' + live.held.length + ' new.');
  });
  source.addEventListener('skipped', ({ data }) => { live.skipped += Number(data); sayFollowing(); });
  source.addEventListener('cut', () => stopLive('Ended: this browser did not keep up.'));
  source.addEventListener('error', () => {
    if (source !== live.source) return;
    if (source.readyState === EventSource.CLOSED) stopLive('Not possible now: all places are taken, or the agent refused.');
    else say('Interrupted; connecting again.');
  });
};
document.querySelector('main').addEventListener('click', ({ target }) => {
  if (target.id !== 'live-toggle') return;
  if (!live.source) startLive();
  else {
    live.isHeld = !live.isHeld;
    if (!live.isHeld) { for (const text of live.held.splice(0)) putLine(text); }
    if (live.isHeld) say('Paused.'); else sayFollowing();
  }
  showLive();
});
// A refresh replaces the content of the page, and must not take what was followed.
new MutationObserver(() => {
  const node = document.getElementById('live');
  if (live.node && node && node !== live.node) node.replaceWith(live.node);
  showLive();
}).observe(document.querySelector('main'), { childList: true });
showLive();
`;
