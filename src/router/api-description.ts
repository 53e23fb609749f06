import { isPlainObject, parseJson, readString } from '../base/index.ts';
import { RouterError } from './errors.ts';

/** One call that a device description lists. */
interface DescribedCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the interface's root, as in `/status/device_info`. */
  readonly path: string;
  readonly summary: string | undefined;
}

/** Facts about the interface of one firmware version from its OpenAPI 3.0 description in JSON. */
interface ApiDescription {
  readonly title: string | undefined;
  /** The firmware version that it describes. */
  readonly version: string | undefined;
  /** All calls of every variant of the device; a given router supports only some of them. */
  readonly calls: readonly DescribedCall[];
}

/** The known descriptions have about 1.2 MB. Characters. */
const DESCRIPTION_LENGTH_MAX = 32 * 1024 * 1024;
const PATHS_MAX = 20_000;
const METHODS = { get: 'GET', post: 'POST', put: 'PUT', delete: 'DELETE' } as const;

/**
 * Parses the OpenAPI 3.0 description that an operator has downloaded from a router. Throws {@link RouterError} `parse`
 * when the text is not one. Source: interface document, "What the service does", 6.
 */
export function parseApiDescription(text: string): ApiDescription {
  const document = text.length > DESCRIPTION_LENGTH_MAX ? undefined : parseJson(text);
  const version = isPlainObject(document) ? readString(document, 'openapi') : undefined;
  if (!isPlainObject(document) || !version?.startsWith('3.') || !isPlainObject(document['paths'])) {
    throw new RouterError('parse', 'The text is no OpenAPI 3 description', {
      disposition: 'operator',
      hint: "Download it from the router's administration of its web and REST interface",
    });
  }
  const info = isPlainObject(document['info']) ? document['info'] : {};
  return {
    title: readString(info, 'title'),
    version: readString(info, 'version'),
    calls: Object.entries(document['paths'])
      .slice(0, PATHS_MAX)
      .flatMap(([path, item]) => describeCalls(path, item)),
  };
}

function describeCalls(path: string, item: unknown): DescribedCall[] {
  if (!isPlainObject(item) || !path.startsWith('/')) return [];
  return Object.entries(METHODS).flatMap(([field, method]) => {
    const operation = item[field];
    return isPlainObject(operation) ? { method, path, summary: readString(operation, 'summary') } : [];
  });
}

/** Options of the manual actions, by type. All values are texts, numbers included. Source: the device's API description. */
export interface ManualActionOptions {
  /** Synchronisation of the clock by NTP; takes no options. */
  readonly ntp_sync: EmptyOptions;
  /** Restart of the device; takes no options. */
  readonly reboot: EmptyOptions;
  /** Automatic update; takes no options. */
  readonly auto_update: EmptyOptions;
  /** Port mirroring; takes no options. */
  readonly port_mirror: EmptyOptions;
  /** Scan for wireless networks; takes no options. */
  readonly ssid_scan: EmptyOptions;
  /** The device's wall clock; the year from 2000 to 2100. */
  readonly set_time: Readonly<Record<'hour' | 'minute' | 'second' | 'year' | 'month' | 'day', string>>;
  /** State of the information LED. */
  readonly info_led: { readonly info_led: 'on' | 'off' | 'flash' };
  /** Name of a configured message. */
  readonly message: { readonly message: string };
  /** Text of at most 140 characters. */
  readonly sms: Readonly<Record<'modem' | 'recipient' | 'text', string>>;
  /** Subject of at most 100, text of at most 5000 characters. */
  readonly email: Readonly<Record<'recipient' | 'subject' | 'text', string>>;
  /** Name of the WAN chain to use. */
  readonly wan_chain: { readonly wan_chain: string };
  /** `name` such as `lte2`. */
  readonly modem_state: { readonly name: string; readonly state_change: 'log_in' | 'log_out' | 'turn_on' | 'turn_off' };
  /** Name of a container and the change of its state. */
  readonly container_state: { readonly name: string; readonly state_change: 'start' | 'stop' | 'restart' };
  /** Name of a stored firmware to activate. Here and below, a single option has the name of its type. */
  readonly firmware: { readonly firmware: string };
  /** Name of a stored profile to activate. */
  readonly profile: { readonly profile: string };
  /** Name of a stored ASCII configuration to run. */
  readonly ascii: { readonly ascii: string };
  /** Name of a timer and what to do with it. */
  readonly timer: { readonly name: string; readonly change: 'start' | 'stop' };
  /** Name of a counter and how to change it. */
  readonly counter: { readonly name: string; readonly set: 'reset' | 'increment' | 'decrement' };
  /** Output as `X.Y`; with `pulses` their number (1 to 255) and period (200 to 5000 ms in steps of 100). */
  readonly output: {
    readonly output: string;
    readonly change: 'toggle' | 'open' | 'close' | 'pulses';
    readonly pulses?: string;
    readonly periode?: string;
  };
  /** Analogue output and its new value. */
  readonly analog_output: { readonly output: string; readonly value: string };
  /** Serial gateway as `serialX.Y`. */
  readonly serge: { readonly name: string; readonly change: 'connect' | 'disconnect' };
  /** Duration for which the device sleeps; without one until it is woken. */
  readonly sleep: Readonly<Partial<Record<'hours' | 'minutes' | 'seconds', string>>>;
  /** Name of the enrollment. */
  readonly cert_reenrollment: { readonly cert_reenrollment: string };
  /** Name such as `ping1`. */
  readonly network_tool: { readonly network_tool: string };
  /** Resets the counter. */
  readonly device_counter: { readonly name: 'boots_since_reset' | 'online_count_since_reset' };
  /** Modem that scans for providers, such as `lte2`. */
  readonly provider_scan: { readonly modem: string };
}

type EmptyOptions = Readonly<Record<string, never>>;

/** One manual action with the options that its type takes. */
export type ManualAction = {
  [Type in keyof ManualActionOptions]: { readonly type: Type; readonly options: ManualActionOptions[Type] };
}[keyof ManualActionOptions];

/** Names of the options of each type, and whether they are required. */
export const MANUAL_ACTION_OPTIONS = {
  ntp_sync: {},
  reboot: {},
  auto_update: {},
  port_mirror: {},
  ssid_scan: {},
  set_time: { hour: true, minute: true, second: true, year: true, month: true, day: true },
  info_led: { info_led: true },
  message: { message: true },
  sms: { modem: true, recipient: true, text: true },
  email: { recipient: true, subject: true, text: true },
  wan_chain: { wan_chain: true },
  modem_state: { name: true, state_change: true },
  container_state: { name: true, state_change: true },
  firmware: { firmware: true },
  profile: { profile: true },
  ascii: { ascii: true },
  timer: { name: true, change: true },
  counter: { name: true, set: true },
  output: { output: true, change: true, pulses: false, periode: false },
  analog_output: { output: true, value: true },
  serge: { name: true, change: true },
  sleep: { hours: false, minutes: false, seconds: false },
  cert_reenrollment: { cert_reenrollment: true },
  network_tool: { network_tool: true },
  device_counter: { name: true },
  provider_scan: { modem: true },
} as const satisfies {
  readonly [Type in keyof ManualActionOptions]: Readonly<Record<keyof ManualActionOptions[Type], boolean>>;
};

/** All types of manual actions. Which of them a device carries out depends on its cards and its firmware. */
export const MANUAL_ACTION_TYPES = Object.keys(MANUAL_ACTION_OPTIONS) as (keyof ManualActionOptions)[];
