/** An empty name. No other name becomes this: behind a "%" of theirs there are always two signs. */
const EMPTY = '%';

/**
 * Returns the token of a name: letters, digits, `_` and `-` stand for themselves, everything else is `%` and two hexadecimal
 * digits for each byte in UTF-8. Different names have different tokens, and {@link fromToken} gives the name back.
 */
export function toToken(name: string): string {
  if (name === '') return EMPTY;
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, toEscapes);
}

function toEscapes(sign: string): string {
  // Half of a surrogate pair has no form in UTF-8.
  if (!sign.isWellFormed()) return `%u${sign.charCodeAt(0).toString(16)}`;
  return Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** Returns the name of a token; `undefined` for what {@link toToken} never gives. */
export function fromToken(token: string): string | undefined {
  if (token === EMPTY) return '';
  const name = token.replaceAll(/%u(d[89a-f][0-9a-f]{2})|(?:%[0-9A-F]{2})+/g, (escapes, half: string | undefined) =>
    half === undefined
      ? Buffer.from(escapes.replaceAll('%', ''), 'hex').toString()
      : String.fromCharCode(Number.parseInt(half, 16)),
  );
  return name !== '' && toToken(name) === token ? name : undefined;
}

/** Topic of a subject of a cluster. */
export type Topic =
  | { readonly kind: 'rec' | 'pos'; readonly router: string; readonly component: string }
  | { readonly kind: 'fact' | 'gone'; readonly router: string }
  | { readonly kind: 'val'; readonly router: string; readonly key: string }
  | { readonly kind: 'cur'; readonly sink: string };

/**
 * The subjects of one cluster, all below `rx.<cluster>`:
 *
 * - `rec.<router>.<component>`: the records of one step of one log.
 * - `pos.<router>.<component>`: where the log stands; only the last message is kept.
 * - `fact.<router>`, `val.<router>.<key>`: facts and values of a router; only the last message is kept.
 * - `cur.<sink>`: how far a sink is; only the last message is kept.
 * - `gone.<router>`: a mark, set when no replica knew the router any more.
 */
export class Subjects {
  readonly #prefix: string;
  readonly #letters: string;
  /** The stream that stores them. */
  readonly stream: string;
  /** The stream of the dead letters. */
  readonly lettersStream: string;

  constructor(cluster: string) {
    const token = toToken(cluster);
    this.#prefix = `rx.${token}`;
    this.#letters = `rxd.${token}`;
    this.stream = `RX_${token}`;
    this.lettersStream = `RXD_${token}`;
  }

  /** All dead letters. */
  get letters(): string {
    return `${this.#letters}.>`;
  }

  /** The dead letter of a record and a sink: `rxd.<cluster>.<sink>.<uid>`, in a stream of their own. */
  letterOf(sink: string, uid: string): string {
    return `${this.#letters}.${toToken(sink)}.${toToken(uid)}`;
  }

  /** Returns sink and record of the subject of a dead letter; `undefined` for anything else. */
  parseLetter(subject: string): { readonly sink: string; readonly uid: string } | undefined {
    if (!subject.startsWith(`${this.#letters}.`)) return undefined;
    const tokens = subject.slice(this.#letters.length + 1).split('.');
    const [sink, uid] = tokens.map(fromToken);
    return tokens.length === 2 && sink !== undefined && uid !== undefined ? { sink, uid } : undefined;
  }

  /** Every subject of the cluster. */
  get all(): string {
    return `${this.#prefix}.>`;
  }

  /** The records of all logs. */
  get records(): string {
    return `${this.#prefix}.rec.>`;
  }

  /** The records of a router. */
  recordsOf(router: string): string {
    return `${this.#prefix}.rec.${toToken(router)}.*`;
  }

  /** The cursors of all sinks. */
  get cursors(): string {
    return `${this.#prefix}.cur.*`;
  }

  /** The marks of routers that no replica knows. */
  get marks(): string {
    return `${this.#prefix}.gone.*`;
  }

  /** Positions, facts and values of all routers. */
  get states(): readonly string[] {
    return [`${this.#prefix}.pos.*.*`, `${this.#prefix}.fact.*`, `${this.#prefix}.val.*.*`];
  }

  /** Positions, facts and values of a router. */
  stateOf(router: string): readonly string[] {
    const token = toToken(router);
    return [`${this.#prefix}.pos.${token}.*`, `${this.#prefix}.fact.${token}`, `${this.#prefix}.val.${token}.*`];
  }

  /** Returns the subject of a topic. */
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

  /** Returns the topic of a subject; `undefined` for one that this program does not write. */
  parse(subject: string): Topic | undefined {
    if (!subject.startsWith(`${this.#prefix}.`)) return undefined;
    const [kind, ...tokens] = subject.slice(this.#prefix.length + 1).split('.');
    const names = tokens.map(fromToken);
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
