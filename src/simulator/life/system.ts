import { readValue } from '../configuration/fresh.ts';
import type { Firmware } from '../device/hardware.ts';
import type { LifeContext } from './life-context.ts';
import { pickInteger, wander } from './signal.ts';
import type { StatusBody } from './status-body.ts';

const LOAD_PERIOD_MS = 60_000;
const RAM_MIB = 256;

/** The running configuration's hash changes with every activation. */
export type HashConfiguration = () => string;

/** `sysdetail/system`. Each firmware writes date, uptime, load and memory in its own way; only 9.5 knows the flash. */
export function describeSystem(life: LifeContext, hashConfiguration: HashConfiguration): StatusBody {
  const { key, clock, hardware, configuration } = life;
  const uptimeMs = clock.uptimeMs();
  const busy = wander(`${key}/load`, uptimeMs, LOAD_PERIOD_MS);
  const used = 0.35 + 0.3 * wander(`${key}/ram`, uptimeMs, LOAD_PERIOD_MS);
  return {
    unique: {
      location: readValue(configuration, 'administration/hostnames', 'location'),
      ...FORMATS[hardware.firmware]({ localStamp: clock.localStamp(), uptimeMs, busy, used }),
      hash: hashConfiguration(),
      mac: renderMac(life, 0),
      ...(hardware.firmware === '9.5' && { flash_status: 'OK' }),
    },
  };
}

/** MAC address number `offset` of a router. */
export function renderMac({ key }: LifeContext, offset: number): string {
  const number = pickInteger(`${key}/mac`, 0, 0xff_ff_00) + offset;
  const [a = '', b = '', c = ''] = number.toString(16).padStart(6, '0').match(/../g) ?? [];
  return `00:05:b6:${a}:${b}:${c}`;
}

interface Readings {
  /** `YYYY-MM-DD hh:mm:ss` */
  readonly localStamp: string;
  readonly uptimeMs: number;
  /** 0 to 1. */
  readonly busy: number;
  /** Share of the memory, 0 to 1. */
  readonly used: number;
}

const FORMATS: Readonly<Record<Firmware, (readings: Readings) => Readonly<Record<string, string>>>> = {
  '9.5': ({ localStamp, uptimeMs, busy, used }) => {
    const { days, time } = splitUptime(uptimeMs);
    return {
      date: localStamp,
      uptime: `${days} days, ${time.slice(0, 5)}`,
      load: [busy, 0.5 * busy + 0.2, 0.25].map((value) => value.toFixed(2)).join(' '),
      ram: `${Math.round(used * RAM_MIB)} / ${RAM_MIB} MB`,
    };
  },
  '6.1': ({ localStamp, uptimeMs, busy, used }) => {
    const { days, time } = splitUptime(uptimeMs);
    const [year, month, day] = localStamp.slice(0, 10).split('-');
    return {
      date: `${day}.${month}.${year} ${localStamp.slice(11)}`,
      uptime: `${days} ${time}`,
      load: `${Math.round(busy * 100)} %`,
      ram: `${Math.round(used * 100)} %`,
    };
  },
  '5.5': ({ localStamp, uptimeMs, busy, used }) => ({
    date: localStamp,
    uptime: String(Math.floor(uptimeMs / 1000)),
    load: busy.toFixed(2),
    ram: String(Math.round(used * RAM_MIB * 1024 * 1024)),
  }),
};

function splitUptime(uptimeMs: number): { days: number; time: string } {
  const days = Math.floor(uptimeMs / 86_400_000);
  return { days, time: new Date(uptimeMs % 86_400_000).toISOString().slice(11, 19) };
}
