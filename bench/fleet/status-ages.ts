/** How old the status of routers is, by the agent's metrics. */

/** Values of a family, with the labels of their series. */
export function* listValues(
  text: string,
  family: string,
): Generator<{ readonly labels: string; readonly value: number }> {
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${family}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))) {
    yield { labels, value: Number(value) };
  }
}

/** Ages of the last status of some routers, by the labels of their series: the 99th of 100, and the highest. Seconds. */
export function describeAges(text: string, isMeant: (labels: string) => boolean): string {
  const newest = new Map<string, number>();
  for (const { labels, value } of listValues(text, 'router_resource_age_seconds')) {
    if (!isMeant(labels)) continue;
    const [router = ''] = labels.split(',');
    newest.set(router, Math.min(newest.get(router) ?? Infinity, value));
  }
  const ages = [...newest.values()].toSorted((a, b) => a - b);
  if (ages.length === 0) return '-';
  return [ages[Math.floor(ages.length * 0.99)], ages.at(-1)].map((age) => age?.toFixed(0)).join(' / ');
}
