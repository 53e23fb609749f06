import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const SITES = ['munich', 'graz', 'brno', 'lyon', 'turin'];
const ROUTERS = 30;

function startSites(): Promise<Fleet> {
  return startFleet({
    routers: ROUTERS,
    config: (config) => ({
      ...config,
      routers: config.routers.map((router, index) => ({
        ...router,
        labels: { site: SITES[index % SITES.length] ?? '' },
        logs: { ...router.logs, enabled: false },
        modules: router.modules.filter(({ name }) => ['modem', 'system', 'interfaces', 'wan'].includes(name)),
      })),
    }),
  });
}

function readTiles(page: string): readonly (readonly (string | undefined)[])[] {
  const [text = ''] = /<ul class="sites".*?<\/ul>/s.exec(page) ?? [];
  const tiles = text.matchAll(/href="(.*?)".*?<\/strong> (.*?)<svg .*?aria-label="(.*?)"/gs);
  return [...tiles].map(([, href, counts = '', band]) => [href, counts.replaceAll(/<.*?>/g, ''), band]);
}

const readTitle = (page: string) => /<title>(.*?) –/.exec(page)?.[1];
const readNames = (page: string) => [...page.matchAll(/class="name" href="router\/(.*?)"/g)].map(([, name]) => name);

test('a site that fails is the first tile, filters table and events, and is in the title; all of it ends with the outage', async () => {
  await using fleet = await startSites();
  await fleet.advance(3 * MINUTE_MS);
  const calm = await fleet.metrics('/');
  expect(readTitle(calm)).toBe('Fleet');
  expect(readTiles(calm)).toHaveLength(5);
  expect(readTiles(calm)[0]).toEqual(['?site=brno', '6 up', 'No router was down in what was watched of the last 24 h']);
  // Names as people count, and what the routers report.
  expect(readNames(await fleet.metrics('/?sort=name')).slice(0, 3)).toEqual(['sim-1', 'sim-2', 'sim-3']);
  expect(calm).toMatch(/<ul class="bar".*<b>30<\/b> up/s);
  expect(calm).toMatch(/c-wan" title="[^"]+ · /);
  expect(calm).toMatch(/(good|fair|poor|unusable) -\d+ dBm/);

  const lyon = fleet.simulator.routers.filter((_, index) => SITES[index % SITES.length] === 'lyon');
  for (const router of lyon) await router.fault('down');
  await fleet.advance(5 * MINUTE_MS);
  const page = await fleet.metrics('/');
  expect(readTitle(page)).toBe('(6 down) Fleet');
  expect(page.replaceAll(/<[^>]*>/g, '')).toContain('6 of 6 routers of site lyon down');
  const [worst] = readTiles(page);
  expect(worst?.slice(0, 2)).toEqual(['?site=lyon', '0 up, 6 down']);
  expect(worst?.[2]).toMatch(/^Routers were down in \d+ of \d+ steps? of 12 min in the last 24 h/);
  expect(readNames(page).slice(0, 6)).toEqual(['sim-4', 'sim-9', 'sim-14', 'sim-19', 'sim-24', 'sim-29']);
  const site = await fleet.metrics('/?site=lyon&event_kind=router.down');
  expect(readNames(site)).toHaveLength(6);
  expect(site.match(/<span class="tag bad">router\.down<\/span>/g)).toHaveLength(6);
  expect(await fleet.metrics('/?site=graz&event_kind=router.down')).not.toContain('class="tag bad"');

  for (const router of lyon) await router.clearFault();
  await fleet.advance(5 * MINUTE_MS);
  const after = await fleet.metrics('/?event_kind=router.up');
  expect(readTitle(after)).toBe('Fleet');
  // The band of the site remembers what has ended.
  expect(readTiles(after).find(([href]) => href?.includes('lyon'))?.[2]).toMatch(/^Routers were down/);
  expect(after.match(/<span class="tag good">router\.up<\/span>/g)).toHaveLength(6);
});
