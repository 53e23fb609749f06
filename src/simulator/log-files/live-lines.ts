import type { Clock, Random, Timer } from '../../base/index.ts';
import type { Device } from '../device/device.ts';
import type { Hardware } from '../device/hardware.ts';
import type { DeviceLife } from '../life/device-life.ts';
import { randomChoice, randomHex, randomInteger } from '../seeded.ts';
import type { LogSeverity } from './writer.ts';

/** A kind of message. */
export interface LogPhrase {
  readonly component: string;
  readonly tag: string;
  /** Relative frequency. */
  readonly weight: number;
  /** Default: `NOTICE`. */
  readonly severity?: LogSeverity;
  readonly render: (random: Random) => string;
}

const interfaces = ['net1', 'net2', 'lte2', 'openvpn1', 'ipsec1'] as const;
const paths = ['/ui/index.html', '/ui/status', '/ui/logs', '/ui/profiles'] as const;
const resources = ['status/device_info', 'status/lte2', 'status/sysdetail/system', 'download/log'] as const;
const address = (random: Random) => `192.168.1.${randomInteger(random, 2, 254)}`;
const milliseconds = (random: Random) => `${randomInteger(random, 9, 240)} ms`;

/** Messages of live routers besides real events. `network` is the busiest and rotates first. */
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
    severity: 'INFO',
    render: (r) =>
      `DHCPACK on ${address(r)} to 00:05:b6:${randomHex(r, 2)}:${randomHex(r, 2)}:${randomHex(r, 2)} via net1`,
  },
  {
    component: 'network',
    tag: 'netfilter',
    weight: 10,
    severity: 'INFO',
    render: (r) =>
      `dropped TCP ${address(r)}:${randomInteger(r, 1024, 65_535)} -> 10.0.0.${randomInteger(r, 1, 9)}:445`,
  },
  {
    component: 'network',
    tag: 'wan',
    weight: 2,
    severity: 'WARNING',
    render: (r) => `wan1: connection check of ${randomChoice(r, interfaces)} failed, retry ${randomInteger(r, 1, 3)}`,
  },
  {
    component: 'httpd',
    tag: 'httpd',
    weight: 8,
    severity: 'INFO',
    render: (r) => `${address(r)} "GET ${randomChoice(r, paths)}" 200 ${randomInteger(r, 300, 90_000)}`,
  },
  {
    component: 'restd',
    tag: 'restd',
    weight: 8,
    severity: 'DEBUG',
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
  {
    component: 'system',
    tag: 'serial',
    weight: 0.5,
    severity: 'ERR',
    render: (r) => `serial1: ${randomInteger(r, 2, 9)} frames with a wrong parity`,
  },
  {
    component: 'system',
    tag: 'thermal',
    weight: 0.2,
    severity: 'CRIT',
    render: (r) => `board temperature ${randomInteger(r, 76, 84)} C is above 75 C`,
  },
  {
    component: 'system',
    tag: 'flash',
    weight: 0.1,
    severity: 'ALERT',
    render: (r) => `${randomInteger(r, 1, 5)} spare blocks left`,
  },
  {
    component: 'system',
    tag: 'power',
    weight: 0.05,
    severity: 'EMERG',
    render: (r) => `supply dropped to ${randomInteger(r, 7, 9)} V`,
  },
];

/** Limit of the random gaps, so that a short demo stays active. */
const GAP_MS_MAX = 2000;

/** Writes realistic lines on `clock`, `linesPerSecond` over all components, until the result is disposed of. */
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

/** Lines of a history, over all components. */
const HISTORY_LINES = 500;

/**
 * Writes the lines of a time before now: the wall clock of the router goes back, and forward again with every line. There are none of
 * a time without power.
 */
export function writeLogHistory(
  { clock, hadTrouble }: Device,
  random: Random,
  durationMs: number,
  write: (phrase: LogPhrase) => void,
): void {
  const stepMs = Math.floor(durationMs / HISTORY_LINES);
  clock.jump(-HISTORY_LINES * stepMs);
  for (let line = 0; line < HISTORY_LINES; line++) {
    if (!hadTrouble('power-cut', (HISTORY_LINES - line) * stepMs)) write(choosePhrase(random));
    clock.jump(stepMs);
  }
}

interface LifeMessage {
  readonly component: string;
  readonly tag: string;
  readonly message: string;
}

/** Interval of the checks in milliseconds. States of a modem last at least five seconds. */
const CHECK_INTERVAL_MS = 5000;

/**
 * Writes changes of a router's state into its logs, at most five seconds late, so that the log agrees with the status: states of its
 * modems, links of its ports, the active WAN chain. Stops when the result is disposed of.
 */
export function startLifeLog(
  clock: Clock,
  life: DeviceLife,
  hardware: Hardware,
  write: (message: LifeMessage) => void,
): Disposable {
  let known = readFacts(life, hardware);
  let timer: Timer;
  const scheduleCheck = () => {
    timer = clock.setTimer(CHECK_INTERVAL_MS, () => {
      const now = readFacts(life, hardware);
      for (const [fact, { value, render }] of now) {
        const before = known.get(fact)?.value;
        if (before !== undefined && before !== value) write(render());
      }
      known = now;
      scheduleCheck();
    });
  };
  scheduleCheck();
  return { [Symbol.dispose]: () => timer.cancel() };
}

interface Fact {
  readonly value: string;
  readonly render: () => LifeMessage;
}

function readFacts(life: DeviceLife, hardware: Hardware): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  const add = (fact: string, value: string, component: string, tag: string, message: string) =>
    facts.set(fact, { value, render: () => ({ component, tag, message }) });

  hardware.cards.forEach((card, position) => {
    const status = readStatus(life, card);
    const state = status.unique?.['state'];
    const name = hardware.interfaces[position] ?? card;
    if (card.startsWith('lte') && state !== undefined) add(card, state, 'modem', name, `${name}: ${state}`);
    const slot = /^(?:ethernet|sfp)(\d)$/.exec(card)?.[1];
    status.list?.forEach(({ link }, port) => {
      if (slot === undefined || link === undefined) return;
      add(`${card}/${port}`, link, 'system', 'kernel', `${card}: port ${slot}.${port + 1} link ${link}`);
    });
  });
  const chain = readStatus(life, 'sysstat/wan').unique?.['name'];
  if (chain !== undefined) add('wan', chain, 'network', 'wan', `WAN chain in use: ${chain}`);
  return facts;
}

type Texts = Readonly<Record<string, string | undefined>>;

/** The body of an override may have any shape. */
function readStatus(life: DeviceLife, resource: string): { readonly unique?: Texts; readonly list?: readonly Texts[] } {
  const { unique, list } = (life.read(resource) ?? {}) as { unique?: Texts; list?: Texts[] };
  return { ...(unique && { unique }), ...(Array.isArray(list) && { list }) };
}
