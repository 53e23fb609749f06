import { createSteppedClock } from '../../src/base/index.ts';
import { type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';
import { STATUS_PATHS } from '../../src/status/index.ts';

/** 2026-11-21 10:30 in the routers' zone. */
export const GOLDEN_AT_MS = Date.UTC(2026, 10, 21, 9, 30, 0);
export const GOLDEN_ZONE = 'Europe/Berlin';
/** Models of the simulator, in its order. The second MRX5 has other cards than the first. */
const MODELS = ['mrx3', 'mro-l200', 'mrx5', 'miro-l200', 'ecr-lw300', 'mrx5-sfp'];
const FIRMWARES = ['9.5', '6.1', '5.5'];
/** As many routers as it takes until every model has met every firmware. */
const ROUTERS = 24;
/** So long before the reading the routers are started: connections stand, counters have grown. */
const AGE_MS = 90 * 60_000;

/** Modems that are turned off or logged out: unknown values are the device's sentinels. */
const MODEM_ORDERS: Readonly<Record<string, string>> = {
  'mro-l200-9.5': 'turn_off',
  'miro-l200-6.1': 'log_out',
  'mrx3-5.5': 'turn_off',
};

/** What one router answers: path to body. Resources that it does not have are left out. */
export type GoldenDocuments = Readonly<Record<string, unknown>>;

/** `mrx3-9.5`, …: each model with each firmware. */
export const GOLDEN_NAMES: readonly string[] = MODELS.flatMap((model) =>
  FIRMWARES.map((firmware) => `${model}-${firmware}`),
);

/** Reads every status resource and what is stored in one simulated router of each kind, by {@link GOLDEN_NAMES}. */
export async function readGoldenDocuments(): Promise<ReadonlyMap<string, GoldenDocuments>> {
  const clock = createSteppedClock(GOLDEN_AT_MS - AGE_MS);
  await using simulator = await startSimulator({
    routers: ROUTERS,
    clock,
    seed: 7,
    plainHttp: true,
    timezone: GOLDEN_ZONE,
  });
  await clock.advance(AGE_MS);
  const all = new Map<string, GoldenDocuments>();
  for (const [index, router] of simulator.routers.entries()) {
    // The hash covers the port, which is another one each time.
    router.setStatus('sysdetail/system', { unique: { hash: '5d41402abc4b2a76b9719d911017c592' } });
    const boards = await get(router, await login(router), 'device_info');
    const name = `${MODELS[index % MODELS.length]}-${readFirmware(boards)}`;
    if (all.has(name)) continue;
    await orderModem(router, MODEM_ORDERS[name]);
    all.set(name, await readDocuments(router));
  }
  return all;
}

async function readDocuments(router: SimulatedRouter): Promise<GoldenDocuments> {
  const token = await login(router);
  const documents: Record<string, unknown> = {};
  for (const path of [...STATUS_PATHS, '/profiles', '/firmware', '/container/container']) {
    const body = await get(router, token, path);
    if (body !== undefined) documents[path] = body;
  }
  return documents;
}

async function login({ url }: SimulatedRouter, username = 'monitor'): Promise<string> {
  const answer = await fetch(`${url}/api/v2_0/auth/login`, {
    method: 'POST',
    body: JSON.stringify({ username, password: 'simulated' }),
  });
  return ((await answer.json()) as { access: string }).access;
}

/** The body of a resource; `undefined` when the router does not have it. */
async function get({ url }: SimulatedRouter, token: string, path: string): Promise<unknown> {
  const where = path.startsWith('/') ? path : `/status/${path}`;
  const answer = await fetch(`${url}/api/v2_0${where}`, { headers: { authorization: `Bearer ${token}` } });
  const body: unknown = await answer.json();
  if (answer.status === 200) return body;
  if (answer.status === 404) return undefined;
  throw new RangeError(`${where} was answered with ${answer.status}`);
}

async function orderModem(router: SimulatedRouter, change: string | undefined): Promise<void> {
  if (change === undefined) return;
  const options = { name: 'lte2', state_change: change };
  const answer = await fetch(`${router.url}/api/v2_0/operation`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await login(router, 'admin')}` },
    body: JSON.stringify({ method: 'manual_action', params: { type: 'modem_state', options } }),
  });
  if (answer.status !== 201) throw new RangeError(`The order was answered with ${answer.status}`);
}

function readFirmware(body: unknown): string {
  const { status } = body as { status: { list: { firmware_version: string }[] } };
  return status.list[0]?.firmware_version ?? '';
}
