/** Escape character of a token: `%` in subjects of the streams, `=` in keys of the bucket, which allow fewer characters. */
type Escape = '%' | '=';

const ESCAPES = {
  '%': /%u(d[89a-f][0-9a-f]{2})|(?:%[0-9A-F]{2})+/g,
  '=': /=u(d[89a-f][0-9a-f]{2})|(?:=[0-9A-F]{2})+/g,
} as const;

/**
 * Returns the token of a name: letters, digits, `_` and `-` are unchanged, everything else is `mark` and two hexadecimal
 * digits for each byte in UTF-8. Different names have different tokens; {@link fromToken} is the inverse. The mark alone is
 * an empty name: in other tokens, it is always followed by two characters.
 */
export function toToken(name: string, mark: Escape = '%'): string {
  if (name === '') return mark;
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, (sign) => {
    // Half of a surrogate pair has no form in UTF-8.
    if (!sign.isWellFormed()) return `${mark}u${sign.charCodeAt(0).toString(16)}`;
    return Array.from(Buffer.from(sign), (byte) => mark + byte.toString(16).toUpperCase().padStart(2, '0')).join('');
  });
}

/** Returns the name of a token; `undefined` for what {@link toToken} never returns. */
export function fromToken(token: string, mark: Escape = '%'): string | undefined {
  if (token === mark) return '';
  const name = token.replaceAll(ESCAPES[mark], (escapes, half: string | undefined) =>
    half === undefined
      ? Buffer.from(escapes.replaceAll(mark, ''), 'hex').toString()
      : String.fromCharCode(Number.parseInt(half, 16)),
  );
  return name !== '' && toToken(name, mark) === token ? name : undefined;
}

type Topic =
  | { readonly kind: 'rec' | 'pos'; readonly router: string; readonly component: string }
  | { readonly kind: 'fact' | 'gone'; readonly router: string }
  | { readonly kind: 'val'; readonly router: string; readonly key: string }
  | { readonly kind: 'cur'; readonly sink: string };

/**
 * The subjects of one cluster, all below `rx.<cluster>`:
 *
 * - `rec.<router>.<component>`: the records of one step of one log.
 * - `pos.<router>.<component>`: the position of the log; only the last message is kept.
 * - `fact.<router>`, `val.<router>.<key>`: facts and values of a router; only the last message is kept.
 * - `cur.<sink>`: the cursor of a sink; only the last message is kept.
 * - `gone.<router>`: a marker, set when no replica knew the router any more.
 */
export class Subjects {
  readonly #prefix: string;
  readonly #deadLetters: string;
  readonly stream: string;
  readonly deadLetterStream: string;

  constructor(cluster: string) {
    const token = toToken(cluster);
    this.#prefix = `rx.${token}`;
    this.#deadLetters = `rxd.${token}`;
    this.stream = `RX_${token}`;
    this.deadLetterStream = `RXD_${token}`;
  }

  get deadLetters(): string {
    return `${this.#deadLetters}.>`;
  }

  /** The dead letter of a record and a sink: `rxd.<cluster>.<sink>.<uid>`, in a stream of their own. */
  deadLetterOf(sink: string, uid: string): string {
    return `${this.#deadLetters}.${toToken(sink)}.${toToken(uid)}`;
  }

  /** Parses the subject of a dead letter; `undefined` for anything else. */
  parseDeadLetter(subject: string): { readonly sink: string; readonly uid: string } | undefined {
    if (!subject.startsWith(`${this.#deadLetters}.`)) return undefined;
    const tokens = subject.slice(this.#deadLetters.length + 1).split('.');
    const [sink, uid] = tokens.map((token) => fromToken(token));
    return tokens.length === 2 && sink !== undefined && uid !== undefined ? { sink, uid } : undefined;
  }

  get all(): string {
    return `${this.#prefix}.>`;
  }

  get records(): string {
    return `${this.#prefix}.rec.>`;
  }

  recordsOf(router: string): string {
    return `${this.#prefix}.rec.${toToken(router)}.*`;
  }

  get cursors(): string {
    return `${this.#prefix}.cur.*`;
  }

  get marks(): string {
    return `${this.#prefix}.gone.*`;
  }

  get states(): readonly string[] {
    return [`${this.#prefix}.pos.*.*`, `${this.#prefix}.fact.*`, `${this.#prefix}.val.*.*`];
  }

  stateOf(router: string): readonly string[] {
    const token = toToken(router);
    return [`${this.#prefix}.pos.${token}.*`, `${this.#prefix}.fact.${token}`, `${this.#prefix}.val.${token}.*`];
  }

  of(topic: Topic): string {
    switch (topic.kind) {
      case 'rec':
      case 'pos':
        return `${this.#prefix}.${topic.kind}.${toToken(topic.router)}.${toToken(topic.component)}`;
      case 'fact':
      case 'gone':
        return `${this.#prefix}.${topic.kind}.${toToken(topic.router)}`;
      case 'val':
        return `${this.#prefix}.val.${toToken(topic.router)}.${toToken(topic.key)}`;
      case 'cur':
        return `${this.#prefix}.cur.${toToken(topic.sink)}`;
    }
  }

  /** Parses a subject; `undefined` for one that this program does not write. */
  parse(subject: string): Topic | undefined {
    if (!subject.startsWith(`${this.#prefix}.`)) return undefined;
    const [kind, ...tokens] = subject.slice(this.#prefix.length + 1).split('.');
    const names = tokens.map((token) => fromToken(token));
    const [first, second] = names;
    if (first === undefined || names.includes(undefined)) return undefined;
    if (names.length === 1) {
      if (kind === 'fact' || kind === 'gone') return { kind, router: first };
      return kind === 'cur' ? { kind, sink: first } : undefined;
    }
    if (names.length !== 2 || second === undefined) return undefined;
    if (kind === 'rec' || kind === 'pos') return { kind, router: first, component: second };
    return kind === 'val' ? { kind, router: first, key: second } : undefined;
  }
}
