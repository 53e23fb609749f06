import { isPlainObject, parseJson, readString } from '../base/index.ts';
import { RouterError } from './errors.ts';

interface DescribedCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the interface's root, as in `/status/device_info`. */
  readonly path: string;
  readonly summary: string | undefined;
}

/** Content of the OpenAPI 3.0 description (JSON) of one firmware version. */
interface ApiDescription {
  readonly title: string | undefined;
  /** Firmware version. */
  readonly version: string | undefined;
  /** Calls of all variants of the device; one router supports only some of them. */
  readonly calls: readonly DescribedCall[];
}

/** Known descriptions have about 1.2 MB. Characters. */
const DESCRIPTION_LENGTH_MAX = 32 * 1024 * 1024;
const PATHS_MAX = 20_000;
const METHODS = { get: 'GET', post: 'POST', put: 'PUT', delete: 'DELETE' } as const;

/**
 * Parses the OpenAPI 3.0 description that an operator has downloaded from a router. Throws {@link RouterError} `parse` for anything else.
 * Source: interface document, "What the service does", 6.
 */
export function parseApiDescription(text: string): ApiDescription {
  const document = text.length > DESCRIPTION_LENGTH_MAX ? undefined : parseJson(text);
  const version = isPlainObject(document) ? readString(document, 'openapi') : undefined;
  if (!isPlainObject(document) || !version?.startsWith('3.') || !isPlainObject(document['paths'])) {
    throw new RouterError('parse', 'The file is not an OpenAPI 3 description', {
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

/** Options of the manual actions, by type. All values are strings, numbers included. Source: the device's API description. */
export interface ManualActionOptions {
  /** Synchronises the clock by NTP; no options. */
  readonly ntp_sync: EmptyOptions;
  /** Restarts the device; no options. */
  readonly reboot: EmptyOptions;
  /** Starts an automatic update; no options. */
  readonly auto_update: EmptyOptions;
  /** Mirrors a port; no options. */
  readonly port_mirror: EmptyOptions;
  /** Scans for wireless networks; no options. */
  readonly ssid_scan: EmptyOptions;
  /** Local time of the device; the year is from 2000 to 2100. */
  readonly set_time: Readonly<Record<'hour' | 'minute' | 'second' | 'year' | 'month' | 'day', string>>;
  /** State of the information LED. */
  readonly info_led: { readonly info_led: 'on' | 'off' | 'flash' };
  /** Name of a configured message. */
  readonly message: { readonly message: string };
  /** Text of at most 140 characters. */
  readonly sms: Readonly<Record<'modem' | 'recipient' | 'text', string>>;
  /** Subject: at most 100 characters; text: at most 5000. */
  readonly email: Readonly<Record<'recipient' | 'subject' | 'text', string>>;
  /** Name of the WAN chain to use. */
  readonly wan_chain: { readonly wan_chain: string };
  /** `name`: such as `lte2`. */
  readonly modem_state: { readonly name: string; readonly state_change: 'log_in' | 'log_out' | 'turn_on' | 'turn_off' };
  /** Name of a container and its new state. */
  readonly container_state: { readonly name: string; readonly state_change: 'start' | 'stop' | 'restart' };
  /** Name of a stored firmware. Here and below, a single option has the name of its type. */
  readonly firmware: { readonly firmware: string };
  /** Name of a stored profile to activate. */
  readonly profile: { readonly profile: string };
  /** Name of a stored ASCII configuration. */
  readonly ascii: { readonly ascii: string };
  /** Name of a timer and its new state. */
  readonly timer: { readonly name: string; readonly change: 'start' | 'stop' };
  /** Name of a counter and its change. */
  readonly counter: { readonly name: string; readonly set: 'reset' | 'increment' | 'decrement' };
  /** `output`: `X.Y`. With `pulses`: their number (1 to 255) and `periode`, 200 to 5000 ms in steps of 100. */
  readonly output: {
    readonly output: string;
    readonly change: 'toggle' | 'open' | 'close' | 'pulses';
    readonly pulses?: string;
    readonly periode?: string;
  };
  /** Analogue output and its new value. */
  readonly analog_output: { readonly output: string; readonly value: string };
  /** `name`: a serial gateway, `serialX.Y`. */
  readonly serge: { readonly name: string; readonly change: 'connect' | 'disconnect' };
  /** Without a duration, the device sleeps until it is woken. */
  readonly sleep: Readonly<Partial<Record<'hours' | 'minutes' | 'seconds', string>>>;
  /** Name of the enrolment. */
  readonly cert_reenrollment: { readonly cert_reenrollment: string };
  /** Such as `ping1`. */
  readonly network_tool: { readonly network_tool: string };
  /** Counter to reset. */
  readonly device_counter: { readonly name: 'boots_since_reset' | 'online_count_since_reset' };
  /** Such as `lte2`. */
  readonly provider_scan: { readonly modem: string };
}

type EmptyOptions = Readonly<Record<string, never>>;

/** A manual action with the options of its type. */
export type ManualAction = {
  [Type in keyof ManualActionOptions]: { readonly type: Type; readonly options: ManualActionOptions[Type] };
}[keyof ManualActionOptions];

/** Options of each type; `true`: required. */
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

/** All types of manual actions. The device's cards and firmware determine which it supports. */
export const MANUAL_ACTION_TYPES = Object.keys(MANUAL_ACTION_OPTIONS) as (keyof ManualActionOptions)[];
