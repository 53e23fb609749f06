import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { renderErrorChain } from '../../base/index.ts';
import { parseApiDescription } from '../../router/index.ts';
import { DocumentMasker } from '../../status/index.ts';
import type { CommandIo } from '../terminal/io.ts';

/** Twenty times the size of the known descriptions. */
const DESCRIPTION_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum resources requested from one router: several times those of the known firmware. */
const RESOURCES_MAX = 500;
const STATUS = '/status/';
/** Names that need no encoding in a URL or a file name. */
const RESOURCE = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){0,7}$/;

/**
 * Reads the status resources that an OpenAPI file describes, except those with a parameter in their path; `undefined` when
 * there are none, with the reason on stderr.
 */
export async function readStatusPaths(file: string, io: CommandIo): Promise<readonly string[] | undefined> {
  let calls: ReturnType<typeof parseApiDescription>['calls'];
  try {
    if ((await stat(file)).size > DESCRIPTION_BYTES_MAX) {
      io.stderr.write(`error: --openapi: ${file} has more than ${DESCRIPTION_BYTES_MAX} bytes\n`);
      return undefined;
    }
    calls = parseApiDescription(await readFile(file, 'utf8')).calls;
  } catch (cause) {
    io.stderr.write(`error: --openapi: ${file}: ${renderErrorChain(cause)}\n`);
    return undefined;
  }
  const paths = calls
    .filter(({ method, path }) => method === 'GET' && path.startsWith(STATUS))
    .map(({ path }) => path.slice(STATUS.length));
  const usable = [...new Set(paths)].filter((path) => RESOURCE.test(path));
  if (usable.length === 0) {
    io.stderr.write(`error: --openapi: ${file} describes no GET below ${STATUS}\n`);
    return undefined;
  }
  const resources = usable.slice(0, RESOURCES_MAX);
  const others = paths.length - resources.length;
  if (others > 0)
    io.stderr.write(`${others} paths of ${file} are not requested: parameters, unusual names, or too many\n`);
  return resources;
}

/** Returns the file name of each resource in a dump. */
export function nameDumpFiles(resources: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const taken = new Set<string>();
  for (const resource of resources) {
    const stem = resource.replaceAll('/', '_');
    let name = `${stem}.json`;
    // Some file systems are case-insensitive.
    for (let count = 2; taken.has(name.toLowerCase()); count++) name = `${stem}-${count}.json`;
    taken.add(name.toLowerCase());
    files.set(resource, name);
  }
  return files;
}

/** Checks that a dump can be written to `folder`; otherwise the reason is on stderr. A missing folder is created later. */
export async function isDumpFolder(
  folder: string,
  files: ReadonlyMap<string, string>,
  isForced: boolean,
  io: CommandIo,
): Promise<boolean> {
  const refuse = (message: string) => {
    io.stderr.write(`error: --dump: ${message}\n`);
    return false;
  };
  try {
    const there = new Set(await readdir(folder));
    const [first, ...others] = [...files.values()].filter((name) => there.has(name));
    if (first === undefined || isForced) return true;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return refuse(`${folder} already contains ${first}${more}; name another folder, or add --force`);
  } catch (cause) {
    return Object(cause).code === 'ENOENT' ? true : refuse(`${folder} cannot be used: ${renderErrorChain(cause)}`);
  }
}

/**
 * Writes the masked documents into `folder`, one file each with mode 0600. Rejects when a file exists already, unless
 * `isForced`.
 */
export async function writeDump(
  folder: string,
  files: ReadonlyMap<string, string>,
  documents: ReadonlyMap<string, unknown>,
  isForced: boolean,
  io: CommandIo,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const masker = new DocumentMasker(documents.values());
  const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW } = constants;
  const flags = O_WRONLY | O_CREAT | (isForced ? O_TRUNC | O_NOFOLLOW : O_EXCL);
  for (const [resource, document] of documents) {
    await using handle = await open(join(folder, files.get(resource) ?? ''), flags, 0o600);
    // An existing file would keep its mode.
    await handle.chmod(0o600);
    await handle.writeFile(`${JSON.stringify(masker.mask(document), null, 2)}\n`);
  }
  io.stderr.write(
    `Wrote ${documents.size} files to ${folder}. Numbers, addresses, names and secrets that could be recognised are masked:\n` +
      'look through the files before you send them to anybody.\n',
  );
}
