/** Runs in the browser, where the page's own policy does not apply: texts that are cut, and have no title that tells them. */
export const FIND_CUT_TEXTS = `[...document.querySelectorAll('main *')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).textOverflow === 'ellipsis')
  .filter((one) => getComputedStyle(one).overflowX === 'hidden' && !one.closest('[title]') && !one.querySelector('[title]'))
  .map((one) => one.className + ': ' + one.textContent)`;
