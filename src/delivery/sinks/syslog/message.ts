import type { LogRecord, RecordFlag, Severity } from '../../../model/index.ts';

export interface SyslogMessageOptions {
  /** 0 to 23. */
  readonly facility: number;
  /** APP-NAME of the messages. */
  readonly appName: string;
  /** Longest message, header included. Bytes. */
  readonly messageBytesMax: number;
}

/** Numbers of RFC 5424, section 6.2.1. */
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
/** Of a record without severity: what a relay assumes of a message without one (RFC 3164, section 4.3.3). */
const SEVERITY_UNKNOWN = SEVERITIES.notice;

/** Longest fields of the header, in characters (RFC 5424, section 6). */
const HOSTNAME_MAX = 255;
const APP_NAME_MAX = 48;
const MSGID_MAX = 32;
const SD_NAME_MAX = 32;
/** Of one value of the structured data, in characters: names of files and labels are far shorter. */
const VALUE_MAX = 512;

/**
 * Names of the elements. What follows the `@` has to be an enterprise number of IANA. This program has none, the one of
 * RFC 5612 is for documents only, and 0 is reserved: it belongs to nobody.
 */
const RECORD_ELEMENT = 'record@0';
const LABELS_ELEMENT = 'labels@0';

const BOM = Buffer.from('\ufeff');

/**
 * A record as a message of RFC 5424.
 *
 * The time has the six decimals that the RFC allows, `HOSTNAME` is the router, `MSGID` the component; the structured data
 * has `timeQuality` from the flags and what else identifies the record. A message that is too long is cut at a character
 * and marked with `truncated`, after the labels and details have been left out. `isReplay` marks one that may have been
 * received before.
 */
export function renderSyslogMessage(record: LogRecord, options: SyslogMessageOptions, isReplay = false): Buffer {
  const { facility, appName, messageBytesMax } = options;
  const severity = record.severity ? SEVERITIES[record.severity] : SEVERITY_UNKNOWN;
  const header = [
    `<${facility * 8 + severity}>1`,
    toTimestamp(record.timestamp),
    toHeaderField(record.router, HOSTNAME_MAX),
    toHeaderField(appName, APP_NAME_MAX),
    '-',
    toHeaderField(record.component, MSGID_MAX),
  ].join(' ');
  const text = Buffer.from(record.message);
  // A text in UTF-8 has to say so; one in ASCII need not (section 6.4), and most collectors would show the mark.
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
  const kept = cutText(text, Math.max(0, messageBytesMax - (head?.length ?? 0)));
  return Buffer.concat([head ?? whole, kept]);
}

/** RFC 3339 with up to six decimals; nil when the record has no time. */
function toTimestamp(timestamp: string | undefined): string {
  const [, micros] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{6})\d*Z$/.exec(timestamp ?? '') ?? [];
  return micros === undefined ? '-' : `${micros}Z`;
}

/** Printable ASCII without blanks: nothing that a configuration or a router says can end the field or the line. */
function toHeaderField(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replaceAll(/[^!-~]/g, '_') || '-';
}

/** What is known about the time; nothing when there is none. */
function renderTimeQuality({ timestamp, flags = [] }: LogRecord): string {
  if (toTimestamp(timestamp) === '-') return '';
  const has = (...names: readonly RecordFlag[]) => names.some((name) => flags.includes(name));
  return renderElement('timeQuality', {
    tzKnown: has('zone_assumed') ? '0' : '1',
    isSynced: has('unsynced', 'clock_uncertain') ? '0' : '1',
  });
}

function renderRecordData(record: LogRecord, marks: Readonly<Record<string, string>>): string {
  const { uid, component, tag, file, offset, event, flags = [], details, observed_timestamp } = record;
  return renderElement(RECORD_ELEMENT, {
    uid,
    component,
    tag,
    file,
    offset: String(offset),
    observed: observed_timestamp,
    event,
    details: details && JSON.stringify(details),
    flags: flags.length > 0 ? flags.join(',') : undefined,
    ...marks,
  });
}

function renderLabels({ labels = {} }: LogRecord): string {
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

/** Section 6.3.3; control characters become a question mark, because many collectors write values into lines. */
function escapeValue(value: string): string {
  return value
    .slice(0, VALUE_MAX)
    .replaceAll(/\p{Cc}/gu, '?')
    .replaceAll(/["\\\]]/g, '\\$&');
}

/** The first bytes of a text in UTF-8, at most `bytesMax`, without a part of a character at the end. */
function cutText(text: Buffer, bytesMax: number): Buffer {
  let end = Math.min(bytesMax, text.length);
  // Bytes of the form 10xxxxxx go on with a character.
  while (end > 0 && end < text.length && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
  return text.subarray(0, end);
}
