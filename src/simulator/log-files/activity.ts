import type { Clock, Random, Timer } from '../../base/index.ts';
import { randomChoice, randomHex, randomInteger } from '../seeded.ts';

/** One kind of message of a live router. */
export interface LogPhrase {
  readonly component: string;
  readonly tag: string;
  /** Frequency relative to the others. */
  readonly weight: number;
  readonly render: (random: Random) => string;
}

const interfaces = ['net1', 'net2', 'lte2', 'openvpn1', 'ipsec1'] as const;
const paths = ['/ui/index.html', '/ui/status', '/ui/logs', '/ui/profiles'] as const;
const resources = ['status/device_info', 'status/lte2', 'status/sysdetail/system', 'download/log'] as const;
const address = (random: Random) => `192.168.1.${randomInteger(random, 2, 254)}`;
const milliseconds = (random: Random) => `${randomInteger(random, 9, 240)} ms`;

/** Messages of live routers besides real events (life-log.ts). `network` is the busy one: it shows the first rotation. */
export const logPhrases: readonly [LogPhrase, ...LogPhrase[]] = [
  {
    component: 'network',
    tag: 'wan',
    weight: 20,
    render: (r) => `wan1: connection check of ${randomChoice(r, interfaces)} succeeded after ${milliseconds(r)}`,
  },
  {
    component: 'network',
    tag: 'dhcpd',
    weight: 12,
    render: (r) =>
      `DHCPACK on ${address(r)} to 00:05:b6:${randomHex(r, 2)}:${randomHex(r, 2)}:${randomHex(r, 2)} via net1`,
  },
  {
    component: 'network',
    tag: 'netfilter',
    weight: 10,
    render: (r) =>
      `dropped TCP ${address(r)}:${randomInteger(r, 1024, 65_535)} -> 10.0.0.${randomInteger(r, 1, 9)}:445`,
  },
  {
    component: 'network',
    tag: 'wan',
    weight: 2,
    render: (r) => `wan1: connection check of ${randomChoice(r, interfaces)} failed, retry ${randomInteger(r, 1, 3)}`,
  },
  {
    component: 'httpd',
    tag: 'httpd',
    weight: 8,
    render: (r) => `${address(r)} "GET ${randomChoice(r, paths)}" 200 ${randomInteger(r, 300, 90_000)}`,
  },
  {
    component: 'restd',
    tag: 'restd',
    weight: 8,
    render: (r) => `GET ${randomChoice(r, resources)} answered in ${milliseconds(r)}`,
  },
  {
    component: 'modem',
    tag: 'lte2',
    weight: 6,
    render: (r) => `signal ${randomInteger(r, 8, 31)}, cell ${randomHex(r, 7)}, registered in home network`,
  },
  {
    component: 'system',
    tag: 'ntpd',
    weight: 2,
    render: (r) => `clock adjusted by ${(r() * 0.02 - 0.01).toFixed(6)} s`,
  },
  {
    component: 'events',
    tag: 'eventd',
    weight: 1,
    render: (r) => `event${randomInteger(r, 1, 9)}: login of user monitor from ${address(r)} succeeded`,
  },
];

/** Gaps are random; a longer one is cut to this, so that a short demo never looks dead. */
const GAP_MS_MAX = 2000;

/** Writes realistic lines on `clock`, all components together `linesPerSecond`, until the result is disposed of. */
export function startLogActivity(
  clock: Clock,
  random: Random,
  linesPerSecond: number,
  write: (phrase: LogPhrase) => void,
): Disposable {
  let timer: Timer;
  const scheduleNext = () => {
    const meanMs = 1000 / linesPerSecond;
    const gapMs = Math.min(Math.max(GAP_MS_MAX, 3 * meanMs), -Math.log(1 - random()) * meanMs);
    timer = clock.setTimer(gapMs, () => {
      write(choosePhrase(random));
      scheduleNext();
    });
  };
  scheduleNext();
  return { [Symbol.dispose]: () => timer.cancel() };
}

const WEIGHT_SUM = logPhrases.reduce((sum, { weight }) => sum + weight, 0);

function choosePhrase(random: Random): LogPhrase {
  let rest = random() * WEIGHT_SUM;
  for (const phrase of logPhrases) {
    rest -= phrase.weight;
    if (rest < 0) return phrase;
  }
  return logPhrases[0];
}
