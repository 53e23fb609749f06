import { Session } from 'node:inspector';
import { parentPort } from 'node:worker_threads';
import { decodeText } from '../files/text-file.ts';
import type { ConfigFault } from './fault.ts';
import { type DataRoot, parseData } from './parse-data.ts';
import { parseSource, type RootKind } from './parse-source.ts';
import type { PositionTable } from './positions.ts';

/** Parses a text, or ends the thread. */
export type YamlRequest =
  | {
      readonly kind: 'parse';
      readonly file: string;
      readonly text: string | Uint8Array<ArrayBuffer>;
      readonly root: RootKind;
    }
  | { readonly kind: 'parse-data'; readonly file: string; readonly text: string; readonly root: DataRoot }
  | { readonly kind: 'end' };

/** The value of a text; without `positions` if it cannot be checked further, for data and at the end. */
export interface YamlReply {
  readonly faults: readonly ConfigFault[];
  readonly value?: unknown;
  readonly positions?: PositionTable | undefined;
}

parentPort?.on('message', (request: YamlRequest) => {
  if (request.kind === 'end') {
    giveMemoryBack(() => reply({ faults: [] }));
  } else if (request.kind === 'parse') {
    const text = typeof request.text === 'string' ? request.text : decodeText(request.text);
    const { content, faults } = parseSource(request.file, text, request.root);
    reply({ faults, ...content });
  } else {
    const parsed = parseData(request.file, request.text, request.root);
    reply(parsed.ok ? { faults: [], value: parsed.value } : { faults: [parsed.fault] });
  }
});

/** Copying the value takes 16 ms of the other thread for 10,000 routers. */
function reply(answer: YamlReply): void {
  const { positions } = answer;
  parentPort?.postMessage(answer, positions ? [positions.nodes.buffer, positions.lineStarts.buffer] : []);
}

/**
 * Releases this thread's memory, within a second. Otherwise V8 pools the heap of an ended thread, and the main thread
 * releases it some seconds later in one step of up to 0.2 s.
 */
function giveMemoryBack(then: () => void): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', then);
}
