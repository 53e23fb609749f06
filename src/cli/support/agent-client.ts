import { readFile } from 'node:fs/promises';
import { CodedError, createSystemClock, openDeadline, renderErrorChain } from '../../base/index.ts';
import { createConnector, createOneConnectionAgent, requestBounded } from '../../net/index.ts';
import { describeUrl, parseRouterUrl } from '../../settings/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

/** Flags for reaching a running agent, or another server. */
export interface AgentFlags {
  readonly url: string;
  /** Bearer token. Default: none. */
  readonly token?: string | undefined;
  /** File with a bearer token. */
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** Authorities to trust. Default: those of the system and of Node.js. */
  readonly caFile?: string | undefined;
}

/** `flags`: the command line is wrong. */
type AgentFailure = 'unreachable' | 'refused' | 'failed' | 'flags';

class AgentRequestError extends CodedError<AgentFailure> {}

interface AgentAnswer {
  readonly status: number;
  readonly text: string;
}

const ANSWER_MS_MAX = 60_000;
/** 10,000 routers take about 12 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 ** 2;
const SECRET_BYTES_MAX = 4096;

/** How messages name a server and its address. */
export interface NamedServer {
  /** As the subject of a sentence. */
  readonly name: string;
  /** Flag or argument with the address, and what is expected there. */
  readonly expected: string;
  /** Hint for an account that lacks a right. Default: none. */
  readonly rights?: string | undefined;
}

const AGENT: NamedServer = {
  name: 'The agent',
  expected: '--url: Expected the address of an agent such as http://localhost:9847',
};

interface AgentRequest {
  /** Default: the agent. */
  readonly server?: NamedServer;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly accept: string;
  /** Body, JSON. Default: none. */
  readonly json?: string;
}

/** Passes the answer to `use`; the reason of a failure is on stderr. */
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
  { server = AGENT, method, path, accept, json }: AgentRequest,
  signal: AbortSignal,
): Promise<AgentAnswer> {
  const base = parseRouterUrl(flags.url);
  if (base === undefined) {
    const what = `${server.expected}, without credentials; found ${describeUrl(flags.url)}`;
    throw new AgentRequestError('flags', what, {
      disposition: 'operator',
      hint: 'Credentials are given with --token-file, or --username and --password-file',
    });
  }
  const { token } = flags;
  const headers = token ? { authorization: `Bearer ${token}` } : await readAuthorization(flags);
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
      json,
      headers,
      bytesMax: ANSWER_BYTES_MAX,
      signal: deadline.signal,
    });
    const text = bytes.toString('utf8');
    if (status === 401 || status === 403) {
      const given = headers['authorization'] === undefined ? 'Log in with' : 'Check what was given with';
      throw new AgentRequestError('refused', `${server.name} refused the request: ${text.trim().slice(0, 200)}`, {
        disposition: 'operator',
        hint: status === 401 ? `${given} --token-file, or --username and --password-file` : server.rights,
      });
    }
    if (isCut) throw new AgentRequestError('failed', `The answer of ${base} is too long`, { disposition: 'operator' });
    return { status, text };
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof AgentRequestError) throw cause;
    throw new AgentRequestError('unreachable', `${server.name} at ${base} could not be reached`, {
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
