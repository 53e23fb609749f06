import type { Hono } from 'hono';
import { renderAsciiExport } from './configuration/ascii-export.ts';
import { Fault } from './fault.ts';
import { parseJsonObject } from './json.ts';
import { activateProfile } from './rest-activation.ts';
import {
  answerBytes,
  answerFault,
  answerJson,
  type RestContext,
  type RestEnv,
  readBody,
  readQuery,
} from './rest-answer.ts';
import { requireGroup } from './rest-auth.ts';
import { renderTar } from './tar.ts';

/** Adds the list of stored profiles, their download, and what can be done with them. */
export function addProfileRoutes(api: Hono<RestEnv>): void {
  const [mayRead, mayWrite] = [requireGroup('read'), requireGroup('readwrite')];
  api.get('/profiles', mayRead, (context) => answerList(context, 200));
  api.post('/profiles', mayWrite, async (context) => {
    const names = parseNames(await readBody(context), ['profile'], ['source']);
    if (names instanceof Fault) return answerFault(context, names);
    const fault = context.env.device.profiles.create(names['profile'] ?? '', names['source']);
    return fault ? answerFault(context, fault) : answerList(context, 201);
  });
  api.delete('/profiles', mayWrite, (context) => {
    const name = readName(context, 'profile');
    const fault = name instanceof Fault ? name : context.env.device.profiles.remove(name);
    return fault ? answerFault(context, fault) : answerBytes(context, 200, Buffer.alloc(0), {});
  });
  api.put('/profiles/activate', mayWrite, async (context) => {
    const names = parseNames(await readBody(context), ['profile'], []);
    const fault = names instanceof Fault ? names : await activateProfile(context, names['profile']);
    return fault ? answerFault(context, fault) : answerList(context, 200);
  });
  api.put('/profiles/rename', mayWrite, async (context) => {
    const names = parseNames(await readBody(context), ['profile', 'new_name'], []);
    if (names instanceof Fault) return answerFault(context, names);
    const fault = context.env.device.profiles.rename(names['profile'] ?? '', names['new_name'] ?? '');
    return fault ? answerFault(context, fault) : answerList(context, 200);
  });
  api.get('/profiles/compare', mayRead, compare);
  api.get('/download/profiles', mayRead, download);
}

function answerList(context: RestContext, status: 200 | 201): Response {
  const { profiles } = context.env.device;
  return answerJson(context, status, { profiles: profiles.list(), profile_mode: 'permanent' });
}

/** The lines of the readable form that only one of two profiles has. */
function compare(context: RestContext): Response {
  const [name, other] = [readName(context, 'profile'), readName(context, 'with')];
  if (name instanceof Fault) return answerFault(context, name);
  if (other instanceof Fault) return answerFault(context, other);
  const [text, otherText] = [renderText(context, name), renderText(context, other)];
  if (text instanceof Fault) return answerFault(context, text);
  if (otherText instanceof Fault) return answerFault(context, otherText);
  const [lines, otherLines] = [text.split('\n'), otherText.split('\n')];
  const [known, otherKnown] = [new Set(lines), new Set(otherLines)];
  return answerJson(context, 200, {
    removed: lines.filter((line) => !otherKnown.has(line)),
    added: otherLines.filter((line) => !known.has(line)),
  });
}

/** The binary form is an archive that holds the readable one. */
function download(context: RestContext): Response {
  const name = readName(context, 'profile');
  if (name instanceof Fault) return answerFault(context, name);
  const format = readQuery(context, 'format') ?? 'binary';
  if (format !== 'binary' && format !== 'ascii') {
    return answerFault(context, format instanceof Fault ? format : Fault.of(400, 'format', 'must be binary or ascii'));
  }
  const text = renderText(context, name);
  if (text instanceof Fault) return answerFault(context, text);
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

function renderText(context: RestContext, name: string): string | Fault {
  const { profiles, hardware } = context.env.device;
  const configuration = profiles.read(name);
  return configuration instanceof Fault ? configuration : renderAsciiExport(configuration, hardware.interfaces);
}

function readName(context: RestContext, parameter: string): string | Fault {
  const name = readQuery(context, parameter);
  return name === undefined || name === '' ? Fault.of(400, parameter, 'must be given') : name;
}

function parseNames(
  body: string | Fault,
  required: readonly string[],
  optional: readonly string[],
): Readonly<Record<string, string | undefined>> | Fault {
  const parsed = parseJsonObject(body, [...required, ...optional]);
  if (parsed instanceof Fault) return parsed;
  for (const key of required) if (parsed[key] === undefined) return Fault.of(400, key, 'is required');
  for (const [key, value] of Object.entries(parsed)) {
    if (typeof value !== 'string') return Fault.of(400, key, 'must be a string');
  }
  return parsed as Readonly<Record<string, string>>;
}
