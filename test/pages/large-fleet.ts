import { advanceUntil } from '../support/advance-until.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const SITES = ['munich', 'graz', 'brno', 'lyon'];
/** Read with all modules: the others have one small one, so that two thousand cost seconds. */
const STAR = 0;
const REFUSED = 1700;
const STAR_POLLS = 30;
/** Seconds until it is up again at most. */
const LOOKS_MAX = 60;
/** Routers whose logs are read. */
const FOLLOWED = 4;
const COMPONENTS = ['network', 'system', 'sdkhost'];

function toName(index: number): string {
  return index === REFUSED ? 'harbour-1701' : `plant-${String(index + 1).padStart(4, '0')}`;
}

/** 2,000 routers over plain HTTP after their first minute. One in 500 has something wrong, each something else. */
export async function startLargeFleet(): Promise<Fleet> {
  const fleet = await startFleet({
    routers: 2000,
    simulator: { plainHttp: true, features: { basicAuth: true } },
    tls: {},
    router: { auth: 'basic' },
    config: (config) => ({
      ...config,
      routers: config.routers.map((router, index) => ({
        ...router,
        name: toName(index),
        labels: { site: SITES[index % SITES.length] ?? '', line: String((index % 9) + 1) },
        modules: index === STAR ? router.modules : router.modules.filter(({ name }) => name === 'system'),
        logs: { ...router.logs, enabled: index < FOLLOWED },
        ...(index === STAR && { auth: 'token' as const, byte_budget: { perDay: 50 * 1024 ** 2, statusShare: 0.2 } }),
        ...(index === REFUSED && { auth: 'token' as const, username: 'nobody' }),
        ...(index === 299 && { url: 'http://plant-0300.invalid' }),
        ...(index === 599 && { url: router.url.replace('http:', 'https:') }),
      })),
    }),
  });
  await fleet.router(899).fault('html_200', { path: '/status' });
  for (let second = 0; second < 60; second++) {
    // Not after each timer, which would take as long as all of the polls together.
    await fleet.clock.advance(1000);
    await fleet.agent.whenIdle();
    if (second < STAR_POLLS) await pollStar(fleet, second);
  }
  // How often it was asked while it was not there depends on how fast this machine is.
  const isUp = async () => /^router_up\{.*\} 1$/m.test(await fleet.metrics(`/probe?target=${toName(STAR)}`));
  for (let look = 0; look < LOOKS_MAX && !(await isUp()); look++) {
    await fleet.clock.advance(1000);
    await probeStar(fleet);
    await fleet.agent.whenIdle();
  }
  return fleet;
}

/** The router with a history: slow in waves, and once not there. */
async function pollStar(fleet: Fleet, turn: number): Promise<void> {
  const star = fleet.router(STAR);
  const lines = [
    'eth0: link is up',
    'lte2: signal -71 dBm, registered in home network',
    'lease of 192.168.1.31 renewed',
  ];
  for (let index = 0; index < FOLLOWED; index++) {
    fleet
      .router(index)
      .appendLog(COMPONENTS[(turn + index) % COMPONENTS.length] ?? '', `${lines[turn % lines.length]} (${turn})`);
  }
  if (turn === 25) await star.fault('down');
  const delayMs = 120 + Math.round(80 * Math.sin(turn / 4)) + (turn % 7) * 15;
  await star.fault('slow', { path: '/status/sysdetail', delayMs });
  await probeStar(fleet);
  await star.clearFault('slow');
  await star.clearFault('down');
}

/** Asks for its metrics, and polls it unless its values are younger than ten seconds. */
function probeStar(fleet: Fleet): Promise<string> {
  return advanceUntil(fleet.metrics(`/probe?target=${toName(STAR)}&fresh=1`), fleet.clock, 50);
}
