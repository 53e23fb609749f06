/** A message of RFC 5424, taken apart. */
export interface ReceivedMessage {
  readonly facility: number;
  readonly severity: number;
  /** `-` where there is none, here and below. */
  readonly timestamp: string;
  readonly hostname: string;
  readonly appName: string;
  readonly procId: string;
  readonly msgId: string;
  /** Element to parameter to value, without escapes. */
  readonly data: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly hasBom: boolean;
  readonly text: string;
  /** Of the whole message. */
  readonly bytes: number;
}

const HEADER = /^<(0|[1-9]\d{0,2})>1 (\S+) ([!-~]{1,255}) ([!-~]{1,48}) ([!-~]{1,128}) ([!-~]{1,32}) (?=[-[])/;
const TIMESTAMP = /^\d{4}-(0\d|1[0-2])-[0-3]\d(T)([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/;
const NAME = /^[!#-<>-\\^-~]{1,32}/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a message by the letter of RFC 5424. Throws `RangeError` at anything that the grammar does not have. */
export function parseSyslogMessage(bytes: Uint8Array): ReceivedMessage {
  const text = decode(bytes);
  const header = HEADER.exec(text);
  if (!header) throw new RangeError(`No header: ${JSON.stringify(text.slice(0, 200))}`);
  const [whole, priority, timestamp = '', hostname = '', appName = '', procId = '', msgId = ''] = header;
  if (Number(priority) > 191) throw new RangeError(`PRI ${priority} is above 191`);
  if (timestamp !== '-' && !TIMESTAMP.test(timestamp)) throw new RangeError(`No TIMESTAMP: ${timestamp}`);
  const { data, rest } = parseData(text.slice(whole.length));
  if (rest !== '' && !rest.startsWith(' ')) throw new RangeError(`No blank before MSG: ${JSON.stringify(rest)}`);
  const message = rest.slice(1);
  const hasBom = message.startsWith('\ufeff');
  if (!hasBom && /[^\p{ASCII}]/u.test(message)) throw new RangeError('MSG is not ASCII and has no BOM');
  return {
    facility: Math.floor(Number(priority) / 8),
    severity: Number(priority) % 8,
    timestamp,
    hostname,
    appName,
    procId,
    msgId,
    data,
    hasBom,
    text: hasBom ? message.slice(1) : message,
    bytes: bytes.length,
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new RangeError('The message is not UTF-8');
  }
}

function parseData(text: string): { data: Record<string, Record<string, string>>; rest: string } {
  if (text.startsWith('-')) return { data: {}, rest: text.slice(1) };
  const data: Record<string, Record<string, string>> = {};
  let rest = text;
  while (rest.startsWith('[')) {
    rest = rest.slice(1);
    const id = takeName();
    if (id in data) throw new RangeError(`SD-ID ${id} stands there twice`);
    if (!id.includes('@') && !['timeQuality', 'origin', 'meta'].includes(id)) {
      throw new RangeError(`SD-ID ${id} is not registered with IANA`);
    }
    if (id.includes('@') && !/^[^@]+@\d+(\.\d+)*$/.test(id)) throw new RangeError(`${id} has no enterprise number`);
    const values: Record<string, string> = {};
    while (rest.startsWith(' ')) {
      rest = rest.slice(1);
      const name = takeName();
      values[name] = takeValue();
    }
    if (!rest.startsWith(']'))
      throw new RangeError(`SD-ELEMENT ${id} has no end: ${JSON.stringify(rest.slice(0, 50))}`);
    rest = rest.slice(1);
    data[id] = values;
  }
  return { data, rest };

  function takeName(): string {
    const name = NAME.exec(rest)?.[0];
    if (name === undefined) throw new RangeError(`No SD-NAME: ${JSON.stringify(rest.slice(0, 50))}`);
    rest = rest.slice(name.length);
    return name;
  }

  function takeValue(): string {
    const value = /^="((?:[^"\\\]]|\\["\\\]])*)"/.exec(rest);
    if (!value) throw new RangeError(`No PARAM-VALUE: ${JSON.stringify(rest.slice(0, 50))}`);
    rest = rest.slice(value[0].length);
    return (value[1] ?? '').replaceAll(/\\(.)/g, '$1');
  }
}
