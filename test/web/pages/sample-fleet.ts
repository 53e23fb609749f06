import type { FleetMinute, RouterSummary, WebContent } from '../../../src/web/index.ts';
import { createProcess, ROUTER } from '../bench.ts';

/** Options of {@link createFleet}. */
export interface SampleFleet {
  readonly count: number;
  /** Number of routers that are down, all of one site as far as it goes. */
  readonly down?: number;
  /** The longest name, and texts in other scripts and directions. */
  readonly isHard?: boolean;
}

const NOW_MS = Date.parse('2026-11-21T15:00:00.000Z');
const SITES = ['nord', 'ost', 'süd', 'west'];
const OPERATORS = ['Telekom.de', 'Vodafone.de', 'o2 - de', 'A1'];
export const LONG_NAME = `${'plant-with-a-name-as-long-as-it-may-be-'.repeat(7)}x`.slice(0, 253);
/** Labels and values in other scripts and directions, and without a place to break. */
export const HARD: Partial<RouterSummary> = {
  labels: {
    site: '東京都千代田区丸の内一丁目九番一号東京駅丸の内駅舎',
    city: 'مدينة القاهرة الكبرى',
    plant: 'x'.repeat(300),
  },
  firmware: '9.5-with-a-suffix-that-nobody-expected-0123456789',
  device: {
    model: 'MRX3 with a very long description of its type',
    location: 'חדר השרתים בקומה השלישית של הבניין הראשי',
    operator: '中国移动通信集团有限公司北京市分公司',
    technology: 'LTE',
    signal: { kind: 'rsrp', value: -121.5 },
    wan: 'שרשרת הגיבוי הראשית של האתר הצפוני',
    uptimeSeconds: 123_456_789,
    drift: 'profile',
  },
};

function createRouter(index: number, { count, down = 0, isHard = false }: SampleFleet): RouterSummary {
  const site = index < down ? 'nord' : (SITES[index % SITES.length] ?? '');
  const isDown = index < down;
  const step = index % 8 === 7 ? 'tls' : 'connect';
  const error = 'Could not open a connection: the router did not answer within 5 s';
  return {
    ...ROUTER,
    name: isHard && index === 0 ? LONG_NAME : `plant-${String(index + 1).padStart(String(count).length, '0')}`,
    url: `https://192.0.2.${index % 250}:9443`,
    labels: { site, line: String(index % 9) },
    since: new Date(NOW_MS - (isDown ? 3480 + (index % 90) : 86_400 * (1 + (index % 30))) * 1000).toISOString(),
    lastSuccess: new Date(NOW_MS - 20_000).toISOString(),
    firmware: index % 5 === 0 ? '9.4' : '9.5',
    byteBudget: index % 3 === 0 ? 50_000_000 : null,
    bytesToday: 1_000_000 + index * 1000,
    device: {
      ...ROUTER.device,
      operator: OPERATORS[index % OPERATORS.length] ?? null,
      signal: { kind: 'rsrp', value: -75 - (index % 50) },
      uptimeSeconds: 3600 * (index % 900),
    },
    ...(isDown && {
      state: 'down' as const,
      isStale: true,
      failure: { reason: step === 'tls' ? 'tls' : 'connect', step, error },
      fault: { step, resource: null, error },
    }),
    ...(isHard && index < 3 && HARD),
    ...(isHard && index === 0 && { name: LONG_NAME }),
  };
}

/** Six hours of a fleet of which `down` routers went down an hour ago. */
function createMinutes({ count, down = 0 }: SampleFleet): FleetMinute[] {
  return Array.from({ length: 360 }, (_, index) => {
    const isOut = index >= 302;
    const at = new Date(NOW_MS - (359 - index) * 60_000).toISOString();
    return { at, up: count - (isOut ? down : 0), down: isOut ? down : 0, stale: index >= 305 ? down : 0, other: 0 };
  });
}

/** A fleet for the pages: at three in the afternoon, UTC. */
export function createFleet(fleet: SampleFleet): Partial<WebContent> & { readonly nowMs: number } {
  const routers = Array.from({ length: fleet.count }, (_, index) => createRouter(index, fleet));
  return {
    nowMs: NOW_MS,
    listRouters: () => routers,
    findRouter(name) {
      const index = routers.findIndex((router) => router.name === name);
      const availability =
        index < (fleet.down ?? 0) ? `${'u'.repeat(100)}m${'d'.repeat(19)}` : `${'-'.repeat(20)}${'u'.repeat(100)}`;
      const router = routers[index];
      return router && { ...router, availability };
    },
    ...createProcess({ minutes: fleet.count === 0 ? [] : createMinutes(fleet) }),
  };
}
