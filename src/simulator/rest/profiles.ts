import type { Hono } from 'hono';
import type { NewProfile } from '../configuration/profiles.ts';
import { renderPasswordHash } from '../configuration/render.ts';
import { resourceTable } from '../configuration/resources.ts';
import { type Configuration, readState } from '../configuration/state.ts';
import { isRecord, parseJsonObject, Rejection } from '../rejection.ts';
import {
  activateProfile,
  answerBytes,
  answerJson,
  answerRejection,
  type RestContext,
  type RestEnv,
  readBody,
  readQuery,
} from './answer.ts';
import { requireGroup } from './auth.ts';

const BLOCK_BYTES = 512;

interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Creates a POSIX (ustar) archive. `modifiedMs`: modification time of all files, in milliseconds since the Unix epoch. */
function renderTar(files: readonly TarFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ name, bytes }) => [
    renderHeader(name, bytes.length, modifiedMs),
    bytes,
    Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ]);
  // Two empty blocks end an archive.
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function renderHeader(name: string, size: number, modifiedMs: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.max(0, Math.floor(modifiedMs / 1000)), 11), 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${octal(sum, 6)}\u0000 `, 148);
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

/**
 * Renders a configuration with one parameter per line, like the command line. Values are JSON strings, so that they fit on a line.
 * Write-only values appear as hashes. `cards`: the cards of the router.
 */
function renderAsciiExport(configuration: Configuration, cards: readonly string[]): string {
  const lines: string[] = [];
  for (const definition of resourceTable.values()) {
    if (definition.card !== undefined && !cards.includes(definition.card)) continue;
    const path = definition.path.replaceAll('/', '.');
    const { unique, list } = readState(configuration, definition);
    const hidden = new Set(definition.list?.fields.filter(({ writeOnly }) => writeOnly).map(({ name }) => name));
    for (const [name, value] of Object.entries(unique)) lines.push(`${path}.${name}=${JSON.stringify(value)}`);
    for (const { uid, index, fields, sublist } of list) {
      for (const [name, value] of Object.entries(fields)) {
        const shown = hidden.has(name) ? renderPasswordHash(value, uid) : value;
        lines.push(`${path}.${index}.${name}=${JSON.stringify(shown)}`);
      }
      for (const [position, sub] of sublist.entries()) {
        for (const [name, value] of Object.entries(sub.fields)) {
          lines.push(`${path}.${index}[${position + 1}].${name}=${JSON.stringify(value)}`);
        }
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Adds the list of stored profiles, their download, and their operations. */
export function addProfileRoutes(api: Hono<RestEnv>): void {
  const [mayRead, mayWrite] = [requireGroup('read'), requireGroup('readwrite')];
  api.get('/profiles', mayRead, (context) => answerList(context, 200));
  api.post('/profiles', mayWrite, async (context) => {
    const entries = parseEntries(await readBody(context), ['name'], ['template', 'stored_profile_name']);
    const fault =
      entries instanceof Rejection ? entries : context.env.device.profiles.create(entries.map(toNewProfile));
    return fault ? answerRejection(context, fault) : answerList(context, 201);
  });
  api.delete('/profiles', mayWrite, (context) => {
    const names = readName(context, 'profile_list');
    const fault = names instanceof Rejection ? names : context.env.device.profiles.remove(names.split(','));
    return fault ? answerRejection(context, fault) : answerBytes(context, 200, Buffer.alloc(0), {});
  });
  api.put('/profiles/activate', mayWrite, (context) => activate(context));
  api.put('/profiles/rename', mayWrite, async (context) => {
    const entries = parseEntries(await readBody(context), ['old_name', 'new_name'], []);
    if (entries instanceof Rejection) return answerRejection(context, entries);
    const renamings = entries.map(({ old_name = '', new_name = '' }) => ({ oldName: old_name, newName: new_name }));
    const fault = context.env.device.profiles.rename(renamings);
    return fault ? answerRejection(context, fault) : answerList(context, 200);
  });
  api.get('/profiles/compare', mayRead, compare);
  api.get('/download/profiles', mayRead, download);
}

const MODE = { profile_mode: 'permanent' } as const;

function answerList(context: RestContext, status: 200 | 201): Response {
  const { profiles } = context.env.device;
  return answerJson(context, status, { profiles: profiles.list(), ...MODE });
}

async function activate(context: RestContext): Promise<Response> {
  const { profiles } = context.env.device;
  const parsed = parseJsonObject(await readBody(context), ['profile']);
  if (parsed instanceof Rejection) return answerRejection(context, parsed);
  const name = parsed['profile'];
  if (typeof name !== 'string') return answerRejection(context, Rejection.of(400, 'profile', 'a string is required'));
  // In a path or a query an unknown profile is a 404; in the body it is a wrong value.
  if (profiles.describe(name) instanceof Rejection)
    return answerRejection(context, Rejection.of(400, 'profile', 'does not exist'));
  const fault = await activateProfile(context, name);
  if (fault) return answerRejection(context, fault);
  const flags = profiles.describe(name);
  return flags instanceof Rejection ? answerRejection(context, flags) : answerJson(context, 200, { ...flags, ...MODE });
}

function toNewProfile({ name = '', template, stored_profile_name }: Texts): NewProfile {
  return { name, template: template ?? 'default_profile', storedName: stored_profile_name };
}

/** Returns the lines of the readable form that only one of two profiles has. */
function compare(context: RestContext): Response {
  const [name, other] = [readName(context, 'profile_left'), readName(context, 'profile_right')];
  if (name instanceof Rejection) return answerRejection(context, name);
  if (other instanceof Rejection) return answerRejection(context, other);
  const [text, otherText] = [renderText(context, name), renderText(context, other)];
  if (text instanceof Rejection || otherText instanceof Rejection)
    return refuse(context, 'one of the two does not exist');
  if (name === other) return refuse(context, 'both are the same');
  const [lines, otherLines] = [text.split('\n'), otherText.split('\n')];
  const [known, otherKnown] = [new Set(lines), new Set(otherLines)];
  return answerJson(context, 200, {
    removed: lines.filter((line) => !otherKnown.has(line)),
    added: otherLines.filter((line) => !known.has(line)),
  });
}

function refuse(context: RestContext, text: string): Response {
  return answerRejection(context, Rejection.of(400, 'profile_params', text));
}

/** The binary form is an archive with the readable one. */
function download(context: RestContext): Response {
  const name = readName(context, 'profile');
  if (name instanceof Rejection) return answerRejection(context, name);
  const format = readQuery(context, 'format') ?? 'binary';
  if (format !== 'binary' && format !== 'ascii') {
    return answerRejection(
      context,
      format instanceof Rejection ? format : Rejection.of(400, 'format', 'must be binary or ascii'),
    );
  }
  const text = renderText(context, name);
  if (text instanceof Rejection) return answerRejection(context, text);
  const bytes = Buffer.from(text);
  const filename = `attachment; filename=${encodeURIComponent(name)}`;
  if (format === 'ascii') {
    return answerBytes(context, 200, bytes, { 'Content-Type': 'text/plain', 'Content-Disposition': `${filename}.txt` });
  }
  const archive = renderTar([{ name: 'profile.txt', bytes }], context.env.device.clock.now());
  return answerBytes(context, 200, archive, {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `${filename}.tar`,
  });
}

function renderText(context: RestContext, name: string): string | Rejection {
  const { profiles, hardware } = context.env.device;
  const configuration = profiles.read(name);
  return configuration instanceof Rejection ? configuration : renderAsciiExport(configuration, hardware.interfaces);
}

function readName(context: RestContext, parameter: string): string | Rejection {
  const name = readQuery(context, parameter);
  return name === undefined || name === '' ? Rejection.of(400, parameter, 'must be given') : name;
}

type Texts = Readonly<Record<string, string | undefined>>;

function parseEntries(
  body: string | Rejection,
  required: readonly string[],
  optional: readonly string[],
): readonly Texts[] | Rejection {
  const parsed = parseJsonObject(body, ['profiles']);
  if (parsed instanceof Rejection) return parsed;
  const entries: unknown = parsed['profiles'];
  if (!Array.isArray(entries) || entries.length === 0)
    return Rejection.of(400, 'profiles', 'a list of entries is required');
  const texts: Texts[] = [];
  for (const entry of entries as readonly unknown[]) {
    if (!isRecord(entry)) return Rejection.of(400, 'profiles', 'an entry must be an object');
    for (const key of required) if (entry[key] === undefined) return Rejection.of(400, key, 'is required');
    for (const [key, value] of Object.entries(entry)) {
      const isKnown = required.includes(key) || optional.includes(key);
      if (!isKnown) return Rejection.of(400, key.slice(0, 100), 'unknown parameter');
      if (typeof value !== 'string') return Rejection.of(400, key, 'must be a string');
    }
    texts.push(entry as Texts);
  }
  return texts;
}
