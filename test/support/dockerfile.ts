import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

interface DockerInstruction {
  readonly keyword: string;
  /** `from` of `--from=build`. */
  readonly flags: Readonly<Record<string, string>>;
  /** What stands behind the keyword and its flags, on one line. */
  readonly text: string;
}

export interface DockerStage {
  /** Its name behind `AS`, or its number. */
  readonly name: string;
  /** The image that it begins with. */
  readonly base: string;
  readonly instructions: readonly DockerInstruction[];
}

/** Reads the instructions of a Dockerfile, stage by stage. Here-documents and ONBUILD are not known. */
export function parseDockerfile(text: string): readonly DockerStage[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const stages: { name: string; base: string; instructions: DockerInstruction[] }[] = [];
  for (const line of lines) {
    const [, keyword = '', flagText = '', rest = ''] = /^(\S+)((?:\s+--\S+)*)\s+(.*)$/.exec(line) ?? [];
    const flags = Object.fromEntries(
      flagText
        .trim()
        .split(/\s+/)
        .filter(Boolean)
        .map((flag) => flag.slice(2).split('=')),
    ) as Record<string, string>;
    if (keyword === 'FROM')
      stages.push({
        name: / AS (\S+)$/.exec(rest)?.[1] ?? String(stages.length),
        base: rest.split(' ')[0] ?? '',
        instructions: [],
      });
    else stages.at(-1)?.instructions.push({ keyword, flags, text: rest });
  }
  return stages;
}

/** The words of an instruction in either form: `["a", "b"]` or `a b`. */
export function readWords(text: string): readonly string[] {
  return text.startsWith('[') ? (JSON.parse(text) as string[]) : text.trim().split(/\s+/);
}

/**
 * Carries out WORKDIR, COPY and RUN of all stages, each in a folder of its own below `folder`, as an engine would in images.
 * The context is `context`, as far as its .dockerignore lets it in. `runs` may carry out a RUN itself and say so.
 * A RUN that names an absolute path and was not carried out by `runs` is left to an engine: here it would mean this machine.
 * A folder `stage-NAME` that is there already is the image that a stage begins with. The answer is the folder of the last stage.
 */
export function buildInFolder(
  stages: readonly DockerStage[],
  context: string,
  folder: string,
  runs: (command: string, cwd: string, root: string) => boolean,
): string {
  const isLetIn = readIgnoreRules(context);
  const rootOf = (name: string) => join(folder, `stage-${name}`);
  for (const { name, instructions } of stages) {
    let cwd = '/';
    const inside = (path: string) => join(rootOf(name), resolve(cwd, path));
    mkdirSync(rootOf(name), { recursive: true });
    for (const { keyword, flags, text } of instructions) {
      if (keyword === 'WORKDIR') {
        cwd = resolve(cwd, text);
        mkdirSync(inside('.'), { recursive: true });
      } else if (keyword === 'COPY') {
        const sources = readWords(text);
        const target = sources.at(-1) ?? '';
        for (const source of sources.slice(0, -1)) {
          const from = flags['from'] === undefined ? join(context, source) : join(rootOf(flags['from']), source);
          if (flags['from'] === undefined && !isLetIn(source)) throw new RangeError(`${source} is not in the context`);
          const isFolder = statSync(from).isDirectory();
          const to = target.endsWith('/') && !isFolder ? join(inside(target), basename(source)) : inside(target);
          copyAll(isFolder ? `${from}/.` : from, to);
        }
      } else if (keyword === 'RUN' && !runs(text, inside('.'), rootOf(name)) && !/(^|[\s='"])\//.test(text)) {
        const { status, stdout, stderr } = spawnSync('sh', ['-c', text], { cwd: inside('.'), encoding: 'utf8' });
        if (status !== 0) throw new RangeError(`RUN ${text} failed: ${stdout}${stderr}`);
      }
    }
  }
  return rootOf(stages.at(-1)?.name ?? '');
}

/** Copies with modes and, as far as this process may, owners, as COPY does between stages. */
function copyAll(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  const { status, stderr } = spawnSync('cp', ['--archive', from, to], { encoding: 'utf8' });
  if (status !== 0) throw new RangeError(`COPY ${from} failed: ${stderr}`);
}

/** Whether .dockerignore lets a path of the context in. It has to be a list of what is let in, behind a `*`. */
export function readIgnoreRules(context: string): (path: string) => boolean {
  const [first, ...exceptions] = readFileSync(join(context, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (first !== '*' || !exceptions.every((line) => line.startsWith('!')))
    throw new SyntaxError('Expected "*", then "!…"');
  const letIn = exceptions.map((line) => line.slice(1));
  return (path) => letIn.some((allowed) => path === allowed || path.startsWith(`${allowed}/`));
}
