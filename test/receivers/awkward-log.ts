const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** Longer than the agent takes a line for. Bytes. */
const LONG_LINE_BYTES = 100_000;

/** Messages that some receiver, format or query language might take for something else. */
const MESSAGES: readonly string[] = [
  'nothing odd',
  '{"level":"error","msg":"a \\"quoted\\" word","n":1e400,"nested":{"a":[null,true]}}',
  '{"unfinished": "',
  'level=error msg="logfmt \\" text" trace_id=0000',
  'null',
  '-0',
  '12345678901234567890',
  '{{ .Values }} ${HOME} %s %n $__all `backticks`',
  "<script>alert('x')</script> &amp; '; DROP TABLE logs; --",
  'tab\there, escape \u001b[31mred\u001b[0m, bell \u0007, delete \u007f, form feed \f, vertical tab \v',
  'emoji 👩‍👩‍👧‍👦 🇩🇪 and a heart ❤️',
  'Größe, naïve, Ελληνικά, 日本語, עברית, العربية',
  'separators \u2028 and \u2029, no-break \u00a0, BOM \ufeff, noncharacter \uffff',
  'a quoted line: 2026-01-01 00:00:00 [wan] it looks like one',
  '] [ ][',
  'C:\\path\\new\\u0000 with backslashes at the end \\\\',
  '   blanks around   ',
  ') and \n continued in the next line: a stack\n  at once\n',
];

const TAIL_BYTES: readonly Buffer[] = [
  Buffer.from([0x41, 0xc3, 0x5f, 0x42]),
  Buffer.from([0xff, 0xfe, 0x80, 0xbf]),
  Buffer.from([0xed, 0xa0, 0x80, 0xed, 0xb0, 0x80]),
  Buffer.from([0x63, 0x75, 0x74, 0xf0, 0x9f, 0x98]),
  Buffer.from('nul\0\0\0within', 'latin1'),
];

/** The lines begin so long before now. */
const AGES_MS = [72 * HOUR_MS, 5 * HOUR_MS, 30 * 60_000];
const LAST_MESSAGE = 'behind a hole';

/** True when the last line is among the records, which the agent keeps back until it is sure that no line continues it. */
export function isAwkwardLogComplete(records: readonly { readonly message: string }[]): boolean {
  return records.filter(({ message }) => message === LAST_MESSAGE).length === AGES_MS.length;
}

/** Flags and events that the lines of {@link renderAwkwardLog} lead to: proof that they were as awkward as they should be. */
export const AWKWARD_SIGNS = ['nul', 'lossy', 'truncated', 'device_scrambled', 'log.repeat'] as const;

/** A log in UTC that begins three days before `nowMs` and ends then: every kind of line at each of several ages. */
export function renderAwkwardLog(nowMs: number): Buffer {
  return Buffer.concat(AGES_MS.flatMap((ageMs) => renderRound(nowMs - ageMs, 0)));
}

/** `count` more lines of the same kinds, all of `nowMs`. */
export function renderMoreLines(nowMs: number, from: number, count: number): Buffer {
  const lines: Buffer[] = [];
  for (let number = from; number < from + count; number++) {
    const odd = MESSAGES[number % MESSAGES.length]?.split('\n', 1)[0] ?? '';
    lines.push(renderLine(nowMs, `${number} ${odd}`));
  }
  return Buffer.concat(lines);
}

function renderRound(startMs: number, from: number): Buffer[] {
  const messages = [...MESSAGES.map((text) => Buffer.from(text)), ...TAIL_BYTES];
  const lines = messages.map((message, index) => renderLine(startMs + (from + index) * SECOND_MS, message));
  const end = startMs + messages.length * SECOND_MS;
  return [
    ...lines,
    // Two equal lines in one second, and the notice of the log daemon that there were more.
    renderLine(end, 'the same'),
    renderLine(end, 'the same'),
    Buffer.from(`${' '.repeat(16)}- Last output repeated 17 times -\n`),
    renderLine(end, `long ${'0123456789äöü '.repeat(LONG_LINE_BYTES / 17)}`),
    renderLine(end, 'x'.repeat(8192)),
    Buffer.alloc(4096),
    renderLine(end, `${LAST_MESSAGE}\r`),
  ];
}

function renderLine(atMs: number, message: string | Buffer): Buffer {
  const stamp = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
  return Buffer.concat([Buffer.from(`${stamp} [wan] `), Buffer.from(message), Buffer.from('\n')]);
}
