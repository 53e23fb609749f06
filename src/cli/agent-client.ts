import { readFile } from 'node:fs/promises';
import { CodedError, createSystemClock, openDeadline, renderErrorChain } from '../base/index.ts';
import { createConnector, createOneConnectionAgent, requestBounded } from '../net/index.ts';
import { describeUrl, parseRouterUrl } from '../settings/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './terminal/io.ts';

/** Flags for reaching a running agent. */
export interface AgentFlags {
  /** Its address, with its route prefix if it has one. */
  readonly url: string;
  /** File with a bearer token. */
  readonly tokenFile?: string | undefined;
  /** User, with the file of the password. */
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** File with the certificates of the authorities to trust. Default: those of the system and of Node.js. */
  readonly caFile?: string | undefined;
}

/** Why a request to the agent failed; `flags`: what was given is wrong. */
type AgentFailure = 'unreachable' | 'refused' | 'failed' | 'flags';

/** A request to the agent that failed. */
class AgentRequestError extends CodedError<AgentFailure> {}

/** An answer of the agent. */
interface AgentAnswer {
  readonly status: number;
  readonly text: string;
}

const ANSWER_MS_MAX = 60_000;
/** Routers of 10,000 take about 12 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 ** 2;
const SECRET_BYTES_MAX = 4096;

interface AgentRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly accept: string;
}

/** Makes one request to a running agent, and has `use` its answer. Of a failed one the reason is on stderr. */
export async function askAgent(
  flags: AgentFlags,
  asked: AgentRequest,
  io: CommandIo,
  use: (answer: AgentAnswer) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await use(await request(flags, asked, io.signal));
  } catch (cause) {
    if (!(cause instanceof AgentRequestError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return cause.code === 'flags' ? EXIT.usage : EXIT.failed;
  }
}

/** Throws {@link AgentRequestError}, or the reason of `signal`. */
async function request(
  flags: AgentFlags,
  { method, path, accept }: AgentRequest,
  signal: AbortSignal,
): Promise<AgentAnswer> {
  const base = parseRouterUrl(flags.url);
  if (base === undefined) {
    const what = 'Expected the address of an agent such as http://localhost:9847, without credentials';
    throw new AgentRequestError('flags', `--url: ${what}; found ${describeUrl(flags.url)}`, {
      disposition: 'operator',
      hint: 'Credentials are given with --token-file, or --username and --password-file',
    });
  }
  const headers = await readAuthorization(flags);
  const caPem = flags.caFile === undefined ? undefined : await readFlagFile(flags.caFile, ANSWER_BYTES_MAX);
  const clock = createSystemClock();
  const agent = createOneConnectionAgent({ keepAliveMs: 1000, connect: createConnector(clock, { caPem }) });
  using deadline = openDeadline(clock, ANSWER_MS_MAX, signal);
  try {
    const url = `${base}${path}`;
    const { status, bytes, isCut } = await requestBounded({
      agent,
      url,
      method,
      accept,
      headers,
      bytesMax: ANSWER_BYTES_MAX,
      signal: deadline.signal,
    });
    const text = bytes.toString('utf8');
    if (status === 401 || status === 403) {
      const given = headers['authorization'] === undefined ? 'Log in with' : 'Check what was given with';
      throw new AgentRequestError('refused', `The agent refuses this: ${text.trim().slice(0, 200)}`, {
        disposition: 'operator',
        ...(status === 401 && { hint: `${given} --token-file, or --username and --password-file` }),
      });
    }
    if (isCut)
      throw new AgentRequestError('failed', 'The answer of the agent is too long', { disposition: 'operator' });
    return { status, text };
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof AgentRequestError) throw cause;
    throw new AgentRequestError('unreachable', `The agent at ${base} could not be asked`, {
      disposition: 'retry',
      cause,
    });
  } finally {
    await agent.destroy();
  }
}

async function readAuthorization({ tokenFile, username, passwordFile }: AgentFlags): Promise<Record<string, string>> {
  if (tokenFile !== undefined) return { authorization: `Bearer ${await readSecretFile(tokenFile)}` };
  if (username === undefined && passwordFile === undefined) return {};
  if (username === undefined || passwordFile === undefined) {
    throw new AgentRequestError('flags', '--username and --password-file need each other', { disposition: 'operator' });
  }
  const account = `${username}:${await readSecretFile(passwordFile)}`;
  return { authorization: `Basic ${Buffer.from(account, 'utf8').toString('base64')}` };
}

async function readSecretFile(path: string): Promise<string> {
  return (await readFlagFile(path, SECRET_BYTES_MAX)).replace(/\r?\n$/, '');
}

async function readFlagFile(path: string, bytesMax: number): Promise<string> {
  try {
    const text = await readFile(path, 'utf8');
    if (text.length <= bytesMax) return text;
  } catch (cause) {
    throw new AgentRequestError('flags', `${path} cannot be read`, { disposition: 'operator', cause });
  }
  throw new AgentRequestError('flags', `${path} is too long`, { disposition: 'operator' });
}
