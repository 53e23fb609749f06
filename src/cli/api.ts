import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { parseJson } from '../base/index.ts';
import { type AnyCall, MANUAL_ACTION_OPTIONS, MANUAL_ACTION_TYPES, type ManualAction } from '../client/index.ts';
import { findNearest } from '../settings/index.ts';
import {
  type CommandIo,
  confirm,
  countBytes,
  EXIT,
  type ExitCode,
  openProgress,
  renderJson,
  writeResult,
} from './support/io.ts';
import { writeOutputFile } from './support/output-file.ts';
import { type ConfigFlags, withRouter } from './support/read-config.ts';

interface ApiFlags extends ConfigFlags {
  readonly router: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly filter?: string | undefined;
  readonly data?: string | undefined;
  /** File for the unchanged body of a GET. Default: stdout. */
  readonly output?: string | undefined;
  readonly yes?: boolean | undefined;
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** `api`: makes any call of the REST interface. Prints the response: JSON indented, everything else unchanged. */
export async function api(flags: ApiFlags, io: CommandIo): Promise<ExitCode> {
  const call = await parseCall(flags, io);
  if (!call) return EXIT.usage;
  if (call.method !== 'GET') {
    const question = `Send ${call.method} ${call.path} to ${flags.router}?`;
    const refusal = await confirm(question, flags.yes, io);
    if (refusal !== undefined) return refusal;
  }
  return withRouter(flags, io, async ({ client }) => {
    const { output } = flags;
    if (output !== undefined) {
      await client.download(call, (body) => writeBody(body, output, io), io.signal);
      return EXIT.done;
    }
    const { status, body, bytes } = await client.call(call, io.signal);
    if (body !== undefined) await writeResult(renderJson(body), io);
    else if (!isReadable(bytes) && io.stdout.isTTY) {
      io.stderr.write(`The body is not text (${bytes.length} bytes); write it to a file with --output\n`);
      return EXIT.failed;
    } else await writeResult(bytes, io);
    if (status < 300) return EXIT.done;
    io.stderr.write(`${call.method} ${call.path} returned ${status}\n`);
    return EXIT.failed;
  });
}

function isReadable(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !/[^\P{Cc}\t\r\n]/u.test(Buffer.from(bytes).toString('utf8'));
}

/** Only for the owner: a body may contain secrets of a configuration. */
const FILE_MODE = 0o600;

/** Only the owner can read the file. A failed download keeps the previous one. */
export async function writeBody(body: AsyncIterable<Uint8Array>, file: string, io: CommandIo): Promise<void> {
  const progress = openProgress(io);
  try {
    await writeOutputFile(file, countBytes(body, file, progress), FILE_MODE);
  } finally {
    progress.end();
  }
}

async function parseCall(flags: ApiFlags, io: CommandIo): Promise<AnyCall | undefined> {
  const refuse = (message: string) => {
    io.stderr.write(`error: ${message}\n`);
    return undefined;
  };
  const method = METHODS.find((known) => known === flags.method.toUpperCase());
  if (!method) return refuse(`unknown method ${JSON.stringify(flags.method)}; expected one of ${METHODS.join(', ')}`);
  if (flags.output !== undefined && method !== 'GET') return refuse('--output requires GET');
  const { filter } = flags;
  const pairs = parseKeyValues('--query', flags.query);
  if (typeof pairs === 'string') return refuse(pairs);
  if (filter !== undefined && parseJson(filter) === undefined) return refuse('--filter: expected JSON');
  const query = filter === undefined ? pairs : { ...pairs, filter };
  const path = flags.path.startsWith('/') ? flags.path : `/${flags.path}`;
  if (!/^[\x21-\x7e]+$/.test(path) || /[?#]/.test(path)) {
    return refuse(`${JSON.stringify(flags.path)} is not a path; parameters go into --query`);
  }
  if (flags.data === undefined) return { method, path, query };
  const text = await readData(flags.data);
  if (text === undefined) return refuse(`--data: the file ${flags.data.slice(1)} could not be read`);
  const json = parseJson(text);
  return json === undefined
    ? refuse('--data: expected JSON, or @ and the name of a file that contains it')
    : { method, path, query, json };
}

async function readData(data: string): Promise<string | undefined> {
  return data.startsWith('@') ? readFile(data.slice(1), 'utf8').catch(() => undefined) : data;
}

interface ActionFlags extends ConfigFlags {
  readonly router: string;
  readonly type: string;
  /** Options of the action as `key=value`. */
  readonly option: readonly string[];
  readonly yes?: boolean | undefined;
}

/** `action`: requests one manual action. It is sent once: after a failure, the router may have carried it out. */
export async function action(flags: ActionFlags, io: CommandIo): Promise<ExitCode> {
  const parsed = parseAction(flags);
  if (typeof parsed === 'string') {
    io.stderr.write(`error: ${parsed}\n`);
    return EXIT.usage;
  }
  const { router, type, option: options } = flags;
  const refusal = await confirm(`Have ${router} carry out ${[type, ...options].join(' ')}?`, flags.yes, io);
  if (refusal !== undefined) return refusal;
  return withRouter(flags, io, async ({ client }) => {
    await client.performAction(parsed, io.signal);
    await writeResult(`${router} has accepted ${type}\n`, io);
    return EXIT.done;
  });
}

function parseAction({ type, option: pairs }: ActionFlags): ManualAction | string {
  const known = MANUAL_ACTION_TYPES.find((one) => one === type);
  if (known === undefined) {
    const nearest = findNearest(type, MANUAL_ACTION_TYPES);
    const hint = nearest ? `did you mean ${nearest}?` : `expected one of ${MANUAL_ACTION_TYPES.join(', ')}`;
    return `unknown action ${JSON.stringify(type)}; ${hint}. Send others with api POST /operation`;
  }
  const options = parseKeyValues('--option', pairs);
  if (typeof options === 'string') return options;
  const names = Object.entries<boolean>(MANUAL_ACTION_OPTIONS[known]);
  const allowed = names.map(([name, isRequired]) => (isRequired ? name : `${name} (optional)`)).join(', ');
  const takes = allowed === '' ? `${type} takes no options` : `${type} takes ${allowed}`;
  const unknown = Object.keys(options).find((name) => !names.some(([one]) => one === name));
  if (unknown !== undefined) return `--option ${unknown}: ${takes}`;
  const missing = names.find(([name, isRequired]) => isRequired && options[name] === undefined);
  if (missing) return `--option ${missing[0]}=… is missing: ${takes}`;
  return { type: known, options } as ManualAction;
}

/** Parses a repeated option such as `--query a=1 --query b=2`. Returns an error message for a value without a key. */
function parseKeyValues(flag: string, pairs: readonly string[]): Readonly<Record<string, string>> | string {
  const values: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return `${flag} ${JSON.stringify(pair)}: expected key=value`;
    values[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return values;
}
