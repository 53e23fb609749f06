import { parentPort } from 'node:worker_threads';
import { decodeText } from '../files/text-file.ts';
import type { ConfigFault } from './fault.ts';
import { type DataRoot, parseData } from './parse-data.ts';
import { parseSource, type RootKind } from './parse-source.ts';
import type { PositionTable } from './positions.ts';
import { cutValue, type ValuePiece } from './value-pieces.ts';

/** A text to parse, or the wish for the next piece of its value. */
export type YamlRequest =
  | {
      readonly kind: 'parse';
      readonly file: string;
      /** Bytes are UTF-8 text. */
      readonly text: string | Uint8Array<ArrayBuffer>;
      readonly root: RootKind;
    }
  | { readonly kind: 'parse-data'; readonly file: string; readonly text: string; readonly root: DataRoot }
  | { readonly kind: 'next' };

/** A piece of the value, or the rest; `positions` are absent if the text cannot be checked further, and for data. */
export type YamlReply =
  | { readonly kind: 'piece'; readonly piece: ValuePiece }
  | { readonly kind: 'done'; readonly faults: readonly ConfigFault[]; readonly positions: PositionTable | undefined };

let pieces: Iterator<ValuePiece, void, undefined> | undefined;
let rest: YamlReply & { readonly kind: 'done' } = { kind: 'done', faults: [], positions: undefined };

parentPort?.on('message', (request: YamlRequest) => {
  if (request.kind === 'parse') {
    const text = typeof request.text === 'string' ? request.text : decodeText(request.text);
    const { content, faults } = parseSource(request.file, text, request.root);
    pieces = content && cutValue(content.value);
    rest = { kind: 'done', faults, positions: content?.positions };
  } else if (request.kind === 'parse-data') {
    const parsed = parseData(request.file, request.text, request.root);
    pieces = parsed.ok ? cutValue(parsed.value) : undefined;
    rest = { kind: 'done', faults: parsed.ok ? [] : [parsed.fault], positions: undefined };
  }
  const next = pieces?.next();
  // One at a time, so that the other side does something else between them.
  if (next?.done === false) {
    parentPort?.postMessage({ kind: 'piece', piece: next.value } satisfies YamlReply, []);
    return;
  }
  const { positions } = rest;
  pieces = undefined;
  parentPort?.postMessage(rest, positions ? [positions.nodes.buffer, positions.lineStarts.buffer] : []);
});
