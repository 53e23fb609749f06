import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { decodeObject, parseJson, readString } from '../base/index.ts';

/** A replica of a cluster, as its lease describes it. */
export interface Member {
  /** Its name, unique in the cluster. */
  readonly replica: string;
  /** Names one run of its process. */
  readonly incarnation: string;
  /** Base URL at which others reach its web server, without a slash at its end; `undefined` if it has none. */
  readonly address: string | undefined;
  /** Start of its process. Milliseconds since the Unix epoch. */
  readonly startedMs: number;
  /** Version of its program. */
  readonly version: string;
  /** Digest of the names of the routers that it knows. */
  readonly routers: string;
}

/** Names of routers that a replica knows. */
export interface RouterNames {
  readonly digest: string;
  readonly names: ReadonlySet<string>;
}

/** Larger values of leases and owner keys are not looked at. Bytes. */
export const MEMBER_BYTES_MAX = 16 * 1024;
/** 10,000 names of 64 characters take two thirds of a MiB, unpacked. Bytes. */
const NAMES_BYTES_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 2048;

/** Writes the value of a lease. */
export function renderMember({ replica, incarnation, address, startedMs, version, routers }: Member): string {
  return JSON.stringify({ replica, incarnation, address, startedMs, version, routers });
}

/** Reads the value of a lease, which another version may have written; `undefined` if it is none. */
export function parseMember(text: string): Member | undefined {
  const value = decodeObject(parseJson(text));
  if (!value) return undefined;
  const [replica, incarnation] = [readText(value, 'replica'), readText(value, 'incarnation')];
  const [routers, startedMs] = [readText(value, 'routers'), value['startedMs']];
  if (replica === undefined || incarnation === undefined || routers === undefined) return undefined;
  return {
    replica,
    incarnation,
    address: parseAddress(readText(value, 'address')),
    startedMs: typeof startedMs === 'number' && Number.isFinite(startedMs) ? startedMs : 0,
    version: readText(value, 'version') ?? '',
    routers,
  };
}

/** The replica that runs a router, as its owner key says. */
export interface Claim {
  readonly replica: string;
  readonly incarnation: string;
}

/** Writes the value of an owner key. */
export function renderClaim({ replica, incarnation }: Claim): string {
  return JSON.stringify({ replica, incarnation });
}

/** Reads the value of an owner key; `undefined` if it is none. */
export function parseClaim(text: string): Claim | undefined {
  const value = decodeObject(parseJson(text));
  const replica = value && readText(value, 'replica');
  const incarnation = value && readText(value, 'incarnation');
  return replica === undefined || incarnation === undefined ? undefined : { replica, incarnation };
}

/** Digest of names of routers, whatever their order. */
export function digestNames(names: Iterable<string>): string {
  const hash = createHash('sha256');
  for (const name of [...names].toSorted()) hash.update(`${name}\n`);
  return hash.digest('base64url').slice(0, 22);
}

/** Packs the names of routers. */
export function packNames(names: Iterable<string>): Buffer {
  return gzipSync([...names].toSorted().join('\n'));
}

/** Unpacks names of routers; `undefined` if they are none. */
export function unpackNames(bytes: Uint8Array): RouterNames | undefined {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: NAMES_BYTES_MAX }).toString();
    const names = new Set(text === '' ? [] : text.split('\n'));
    return { digest: digestNames(names), names };
  } catch {
    return undefined;
  }
}

function readText(value: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = readString(value, name);
  return text !== undefined && text.length > 0 && text.length <= TEXT_MAX ? text : undefined;
}

/** Pages lead there, so it is a web address and nothing else. */
function parseAddress(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    return undefined;
  }
  return url.href.replace(/\/+$/, '');
}
