import type { RecordFlag, Severity, ShippedRecord } from '../../../model/index.ts';
import { cutUtf8 } from '../../outgoing-record.ts';

interface SyslogMessageOptions {
  /** Facility number, 0 to 23. */
  readonly facility: number;
  readonly appName: string;
  /** Maximum size of a message, including the header. Bytes. */
  readonly messageBytesMax: number;
}

/** Severity numbers of RFC 5424, section 6.2.1. */
const SEVERITIES: Readonly<Record<Severity, number>> = {
  emergency: 0,
  alert: 1,
  critical: 2,
  error: 3,
  warning: 4,
  notice: 5,
  info: 6,
  debug: 7,
};
/** Severity of a record without one, as relays assume (RFC 3164, section 4.3.3). */
const SEVERITY_UNKNOWN = SEVERITIES.notice;

/** Maximum lengths of header fields (RFC 5424, section 6). Characters. */
const HOSTNAME_MAX = 255;
const APP_NAME_MAX = 48;
const MSGID_MAX = 32;
const SD_NAME_MAX = 32;
/** Maximum length of a value in the structured data; file names and labels are far shorter. Characters. */
const VALUE_MAX = 512;

/**
 * Names of the elements. The part after `@` must be an IANA enterprise number. This program has none, the one of RFC 5612 is
 * for documentation only, and 0 is reserved and unassigned.
 */
const RECORD_ELEMENT = 'record@0';
const LABELS_ELEMENT = 'labels@0';

const BOM = Buffer.from('\ufeff');

/**
 * Renders a record as a message of RFC 5424.
 *
 * The time has the six decimals that the RFC allows, `HOSTNAME` is the router, `MSGID` the component or the kind of
 * an event of a router. The structured data contains `timeQuality`, derived from the flags, and the identifying fields of the record. A message that is too long loses
 * its labels and details, is truncated between characters and marked `truncated`. `isReplay` marks a message that the
 * collector may already have.
 */
export function renderSyslogMessage(record: ShippedRecord, options: SyslogMessageOptions, isReplay = false): Buffer {
  const { facility, appName, messageBytesMax } = options;
  const severity = record.severity ? SEVERITIES[record.severity] : SEVERITY_UNKNOWN;
  const header = [
    `<${facility * 8 + severity}>1`,
    // An event of a router happened when it was observed.
    toTimestamp(record.component === undefined ? record.observed_timestamp : record.timestamp),
    toHeaderField(record.router, HOSTNAME_MAX),
    toHeaderField(appName, APP_NAME_MAX),
    '-',
    toHeaderField(record.component ?? record.event ?? '', MSGID_MAX),
  ].join(' ');
  const text = Buffer.from(record.message);
  // UTF-8 text requires a BOM; ASCII does not (section 6.4), and most collectors would display it.
  const mark = text.length === record.message.length ? Buffer.alloc(0) : BOM;
  const toHead = (data: string) => Buffer.concat([Buffer.from(`${header} ${data} `), mark]);

  const replay = isReplay ? { replayed: 'true' } : {};
  const whole = toHead(renderTimeQuality(record) + renderRecordData(record, replay) + renderLabels(record));
  if (whole.length + text.length <= messageBytesMax) return Buffer.concat([whole, text]);
  const cut = { ...replay, truncated: 'true' };
  const { details: _details, ...core } = record;
  const head = [
    toHead(renderTimeQuality(record) + renderRecordData(core, cut)),
    toHead(renderElement(RECORD_ELEMENT, { uid: record.uid, ...cut })),
  ].find(({ length }, index) => length < messageBytesMax || index === 1);
  const kept = cutUtf8(text, Math.max(0, messageBytesMax - (head?.length ?? 0)));
  return Buffer.concat([head ?? whole, kept]);
}

/** Returns the time in RFC 3339 with up to six decimals; `-` when the record has none. */
function toTimestamp(timestamp: string | undefined): string {
  const [, micros] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3,6})\d*Z$/.exec(timestamp ?? '') ?? [];
  return micros === undefined ? '-' : `${micros}Z`;
}

/** Converts to printable ASCII without blanks, so that no configured or received text can end the field or the line. */
function toHeaderField(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replaceAll(/[^!-~]/g, '_') || '-';
}

function renderTimeQuality({ timestamp, flags = [] }: ShippedRecord): string {
  if (toTimestamp(timestamp) === '-') return '';
  const has = (...names: readonly RecordFlag[]) => names.some((name) => flags.includes(name));
  return renderElement('timeQuality', {
    tzKnown: has('zone_assumed') ? '0' : '1',
    isSynced: has('unsynced', 'clock_uncertain') ? '0' : '1',
  });
}

function renderRecordData(record: ShippedRecord, marks: Readonly<Record<string, string>>): string {
  const { uid, component, tag, file, offset, event, flags = [], details, observed_timestamp } = record;
  return renderElement(RECORD_ELEMENT, {
    uid,
    component,
    tag,
    file,
    offset: offset === undefined ? undefined : String(offset),
    observed: observed_timestamp,
    event,
    details: details && JSON.stringify(details),
    flags: flags.length > 0 ? flags.join(',') : undefined,
    ...marks,
  });
}

function renderLabels({ labels = {} }: ShippedRecord): string {
  return Object.keys(labels).length > 0 ? renderElement(LABELS_ELEMENT, labels) : '';
}

function renderElement(name: string, values: Readonly<Record<string, string | undefined>>): string {
  const parameters = Object.entries(values).map(([key, value]) =>
    value === undefined ? '' : ` ${toSdName(key)}="${escapeValue(value)}"`,
  );
  return `[${name}${parameters.join('')}]`;
}

function toSdName(name: string): string {
  return name.slice(0, SD_NAME_MAX).replaceAll(/[^!-~]|[=\]"]/g, '_') || '_';
}

/** Escapes a value (section 6.3.3). Control characters become `?`, because many collectors write values into lines. */
function escapeValue(value: string): string {
  return value
    .slice(0, VALUE_MAX)
    .replaceAll(/\p{Cc}/gu, '?')
    .replaceAll(/["\\\]]/g, '\\$&');
}
