import { Session } from 'node:inspector';
import { parentPort } from 'node:worker_threads';
import { decodeText } from '../files/text-file.ts';
import type { ConfigFault } from './fault.ts';
import { type DataRoot, parseData } from './parse-data.ts';
import { parseSource, type RootKind } from './parse-source.ts';
import type { PositionTable } from './positions.ts';
import { cutValue, type ValuePiece } from './value-pieces.ts';

/** Parses a text, asks for the next piece of its value, or ends the thread. */
export type YamlRequest =
  | {
      readonly kind: 'parse';
      readonly file: string;
      readonly text: string | Uint8Array<ArrayBuffer>;
      readonly root: RootKind;
    }
  | { readonly kind: 'parse-data'; readonly file: string; readonly text: string; readonly root: DataRoot }
  | { readonly kind: 'next' }
  | { readonly kind: 'end' };

/**
 * A piece of the value, or the result without `positions` if the text cannot be checked further, for data and at the
 * end.
 */
export type YamlReply =
  | { readonly kind: 'piece'; readonly piece: ValuePiece }
  | { readonly kind: 'done'; readonly faults: readonly ConfigFault[]; readonly positions: PositionTable | undefined };

const NOTHING: YamlReply & { readonly kind: 'done' } = { kind: 'done', faults: [], positions: undefined };
let pieces: Iterator<ValuePiece, void, undefined> | undefined;
let rest = NOTHING;

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
  } else if (request.kind === 'end') {
    pieces = undefined;
    rest = NOTHING;
    giveMemoryBack(() => parentPort?.postMessage(NOTHING, []));
    return;
  }
  const next = pieces?.next();
  // One piece per request, so that the main thread does other work in between.
  if (next?.done === false) {
    parentPort?.postMessage({ kind: 'piece', piece: next.value } satisfies YamlReply, []);
    return;
  }
  const { positions } = rest;
  pieces = undefined;
  parentPort?.postMessage(rest, positions ? [positions.nodes.buffer, positions.lineStarts.buffer] : []);
});

/**
 * Releases this thread's memory, within a second. Otherwise V8 pools the heap of an ended thread, and the main thread
 * releases it some seconds later in one step of up to 0.2 s.
 */
function giveMemoryBack(then: () => void): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', then);
}
