import type { Hono } from 'hono';
import { addEntries, changeEntries, deleteEntries } from '../configuration/change.ts';
import { parseFilter, type Selected, selectEntries } from '../configuration/filter.ts';
import { renderConfig, renderScheme } from '../configuration/render.ts';
import { type Envelope, parseEnvelope } from '../configuration/request-body.ts';
import type { ResourceDefinition } from '../configuration/resource.ts';
import { resourceTable } from '../configuration/resources.ts';
import { type Configuration, type ResourceState, readState, replaceState } from '../configuration/state.ts';
import { checkWebSettings, readWebSettings } from '../configuration/web-settings.ts';
import { Rejection } from '../rejection.ts';
import {
  activateProfile,
  answerBytes,
  answerJson,
  answerRejection,
  type RestContext,
  type RestEnv,
  readBody,
  readQuery,
  readRestOfPath,
} from './answer.ts';
import { requireGroup } from './auth.ts';

const PATH = '/configuration/*';
/** Values of `append_scheme` that mean yes. */
const YES = new Set(['1', 'true', 'yes', 'on']);

/** Adds reading and changing the configuration. */
export function addConfigurationRoutes(api: Hono<RestEnv>): void {
  api.get(PATH, requireGroup('read'), (context) => respond(context, read(context)));
  api.post(PATH, requireGroup('readwrite'), async (context) => respond(context, await write(context, 'POST')));
  api.put(PATH, requireGroup('readwrite'), async (context) => respond(context, await write(context, 'PUT')));
  api.delete(PATH, requireGroup('readwrite'), async (context) => respond(context, await remove(context)));
  api.all(PATH, (context) => {
    context.header('Allow', 'GET, POST, PUT, DELETE');
    return answerRejection(context, Rejection.of(405, 'method', 'not supported by this resource'));
  });
}

function respond(context: RestContext, answer: Response | Rejection): Response {
  return answer instanceof Rejection ? answerRejection(context, answer) : answer;
}

function read(context: RestContext): Response | Rejection {
  const target = findTarget(context, undefined);
  if (target instanceof Rejection) return target;
  const { definition, configuration, profileName } = target;
  const scheme = readQuery(context, 'append_scheme');
  if (scheme instanceof Rejection) return scheme;
  const state = readState(configuration, definition);
  const isFiltered = context.req.query('filter') !== undefined;
  const selected = isFiltered ? select(context, definition, state) : toSelected(state);
  if (selected instanceof Rejection) return selected;
  const entries = selected.map(({ entry }) => entry);
  const wantsSize = context.req.query('return_size') !== undefined;
  if (wantsSize && !definition.list) return Rejection.of(400, 'return_size', 'this resource has no list');
  // Zero is a valid count; a filter for a missing entry is a mistake.
  if (isFiltered && !wantsSize && entries.length === 0) return Rejection.of(404, 'filter', 'entry not found');
  return answerJson(context, 200, {
    profile: context.env.device.profiles.describe(profileName),
    config: wantsSize ? { list_size: entries.length } : renderConfig(definition, state, entries),
    ...(YES.has((scheme ?? '').toLowerCase()) && { scheme: renderScheme(definition) }),
  });
}

async function write(context: RestContext, method: 'POST' | 'PUT'): Promise<Response | Rejection> {
  const envelope = parseEnvelope(await readBody(context));
  const target = findTarget(context, envelope instanceof Rejection ? undefined : envelope);
  if (target instanceof Rejection) return target;
  if (envelope instanceof Rejection) return envelope;
  const { definition, configuration, profileName } = target;
  const state = readState(configuration, definition);
  const changed =
    method === 'POST'
      ? addEntries(definition, state, envelope, context.env.device.createUid)
      : changeEntries(definition, state, envelope, context.env.device.hardware.firmware === '9.5');
  if (changed instanceof Rejection) return allow(context, changed, 'GET, PUT');
  const fault = await store(context, profileName, replaceState(configuration, definition, changed), envelope.activate);
  if (fault) return fault;
  return answerJson(context, method === 'POST' ? 201 : 200, {
    profile: context.env.device.profiles.describe(profileName),
    config: renderConfig(definition, changed),
  });
}

async function remove(context: RestContext): Promise<Response | Rejection> {
  const target = findTarget(context, undefined);
  if (target instanceof Rejection) return target;
  const { definition, configuration, profileName } = target;
  if (!definition.list) return allow(context, Rejection.of(405, 'method', 'this resource is no list'), 'GET, PUT');
  const what = readQuery(context, 'delete');
  const level = what instanceof Rejection ? what : readLevel(definition, what);
  if (level instanceof Rejection) return level;
  const state = readState(configuration, definition);
  const isFiltered = context.req.query('filter') !== undefined;
  const selected = isFiltered ? select(context, definition, state) : toSelected(state);
  if (selected instanceof Rejection) return selected;
  const isNothing = selected.every(({ sublist }) => level === 'sublist' && sublist.length === 0);
  if (isFiltered && isNothing) return Rejection.of(404, 'filter', 'entry not found');
  const changed = replaceState(configuration, definition, deleteEntries(state, selected, level));
  const fault = await store(context, profileName, changed, false);
  return fault ?? answerBytes(context, 200, Buffer.alloc(0), {});
}

interface Target {
  readonly definition: ResourceDefinition;
  readonly configuration: Configuration;
  /** `undefined`: the running profile. */
  readonly profileName: string | undefined;
}

/** The path names the resource, the query or the body the profile. */
function findTarget(context: RestContext, envelope: Envelope | undefined): Target | Rejection {
  const { device } = context.env;
  const definition = resourceTable.get(readRestOfPath(context, 'configuration'));
  const { card } = definition ?? {};
  if (!definition || (card !== undefined && !device.hardware.interfaces.includes(card))) {
    return Rejection.of(404, 'resource', 'not found');
  }
  const fromQuery = readQuery(context, 'profile');
  if (fromQuery instanceof Rejection) return fromQuery;
  const profileName = fromQuery ?? envelope?.profileName;
  if (envelope?.profileName !== undefined && profileName !== envelope.profileName) {
    return Rejection.of(400, 'profile', 'the query and the body name different profiles');
  }
  const configuration = device.profiles.read(profileName);
  return configuration instanceof Rejection ? configuration : { definition, configuration, profileName };
}

function select(
  context: RestContext,
  { list }: ResourceDefinition,
  state: ResourceState,
): readonly Selected[] | Rejection {
  const text = readQuery(context, 'filter');
  if (text instanceof Rejection) return text;
  if (!list) return Rejection.of(400, 'filter', 'this resource has no list');
  const filters = parseFilter(text ?? '');
  return filters instanceof Rejection ? filters : selectEntries(list, state.list, filters);
}

function toSelected({ list }: ResourceState): readonly Selected[] {
  return list.map((entry) => ({ entry, sublist: entry.sublist }));
}

/** `delete` names the level: the list, its inner lists, or a parameter of that level. */
function readLevel({ list }: ResourceDefinition, what: string | undefined): 'list' | 'sublist' | Rejection {
  if (what === undefined || what === 'list') return 'list';
  const isInner = what === 'sublist' ? list?.sublist !== undefined : list?.sublist?.some(({ name }) => name === what);
  return isInner ? 'sublist' : Rejection.of(400, 'delete', 'names no list within the entries of this resource');
}

async function store(
  context: RestContext,
  profileName: string | undefined,
  configuration: Configuration,
  activate: boolean,
): Promise<Rejection | undefined> {
  const { device, features } = context.env;
  const fault = checkWebSettings(readWebSettings(configuration));
  if (fault) return fault;
  device.profiles.write(profileName, configuration);
  const isRunning = profileName === undefined || profileName === device.profiles.runningName;
  if (!activate && !(features.implicitActivation && isRunning)) return undefined;
  return activateProfile(context, profileName);
}

function allow(context: RestContext, fault: Rejection, methods: string): Rejection {
  if (fault.status === 405) context.header('Allow', methods);
  return fault;
}
