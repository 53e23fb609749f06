import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a program that has ended has left. */
interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program under test, in a process of its own. */
export interface Program extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Output so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it has ended by itself or was killed. */
  readonly ended: Promise<ProgramEnd>;
  /** Resolves with the match once `pattern` stands in its output; rejects when it ends without. */
  waitFor(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>;
}

/** The product's own command, which prepare-run.ts has bundled. */
export const PROGRAM = String(process.env['BUNDLED_PROGRAM']);

const CHILDREN: Readonly<Record<string, string>> = JSON.parse(process.env['BUNDLED_CHILDREN'] ?? '{}');

/** A program of the tests, which prepare-run.ts has bundled, by the address of its source. */
export function bundledChild(source: URL): string {
  const file = CHILDREN[fileURLToPath(source)];
  if (file === undefined) throw new RangeError(`${source.href} is not bundled`);
  return file;
}

/** Starts the product's own command with the Node.js that runs the tests. */
export function startRouterExporter(...args: string[]): Program {
  return startProgram(process.execPath, [PROGRAM, ...args]);
}

/** `cwd` is the folder that it starts in; by default that of the tests. `stdin`: whether the test writes its input. */
export function startProgram(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd?: string,
  stdin: 'ignore' | 'pipe' = 'ignore',
): Program {
  const child = spawn(file, args, { stdio: [stdin, 'pipe', 'pipe'], env: { ...process.env, ...env }, cwd });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = (async (): Promise<ProgramEnd> => {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal, ...output };
  })();
  return {
    process: child,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    ended,
    waitFor(stream, pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(output[stream]);
          if (match) resolve(match);
          return match !== null;
        };
        if (look()) return;
        child[stream]?.on('data', look);
        ended.then(
          (end) => look() || reject(new RangeError(`The program ended without ${pattern}: ${JSON.stringify(end)}`)),
          reject,
        );
      });
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
