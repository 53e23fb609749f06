/** One JSON object with its text. */
export interface JsonLine {
  readonly text: string;
  readonly object: Readonly<Record<string, unknown>>;
}

const LINE_FEED = 0x0a;

/**
 * Reads JSON lines without any mercy: UTF-8 without a byte order mark, every line one object in its shortest form, which
 * also means no key twice, and one line feed behind each line. Throws `SyntaxError` for everything else.
 */
export function readJsonLines(bytes: Buffer): readonly JsonLine[] {
  if (bytes.length === 0) throw new SyntaxError('no line at all');
  if (bytes.at(-1) !== LINE_FEED) throw new SyntaxError('no line feed behind the last line');
  const text = decodeUtf8(bytes);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line, index) => {
      const object = parseObject(line, index + 1);
      if (JSON.stringify(object) !== line) {
        throw new SyntaxError(`line ${index + 1} is not in its shortest form, or has a key twice`);
      }
      return { text: line, object };
    });
}

function decodeUtf8(bytes: Buffer): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError('not UTF-8');
  }
  if (text.startsWith('\ufeff')) throw new SyntaxError('a byte order mark');
  return text;
}

function parseObject(line: string, number: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new SyntaxError(`line ${number} is no JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SyntaxError(`line ${number} is no object`);
  }
  return value as Readonly<Record<string, unknown>>;
}
