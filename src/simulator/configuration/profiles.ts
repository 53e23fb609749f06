import { Rejection, type RejectionReason } from '../rejection.ts';
import type { Configuration } from './state.ts';

/** The field names are those of the interface. */
interface ProfileFlags {
  readonly name: string;
  readonly last_activated: boolean;
  readonly modified: boolean;
}

/** A profile to be created. */
export interface NewProfile {
  readonly name: string;
  /** Source of the copy: `default_profile`, `running_profile` or `stored_profile`. */
  readonly template: string;
  /** Name of the stored profile. */
  readonly storedName: string | undefined;
}

interface Profile {
  name: string;
  configuration: Configuration;
  /** True if changed since its last activation or its creation. */
  isModified: boolean;
}

/** The running profile of a fresh router, and a second one. */
const FRESH_NAMES = ['Profile', 'quick_start_profile'] as const;
const PROFILES_MAX = 16;
/** Number of reasons in an error body, and characters quoted from a wrong name. */
const REASONS_MAX = 20;
const KEY_LENGTH_MAX = 100;
const NAME = /^[\p{L}\p{N}_.-][\p{L}\p{N}_. -]{0,63}$/u;

/**
 * The profiles of one router. What the router does follows `active`, a copy made by the last activation:
 *
 *   any profile ──written──> modified (`active` stays as it is, also when this is the running profile)
 *   any profile ──activated──> running, not modified, `active` = its configuration; the one before runs no longer
 */
export class Profiles {
  #fresh: Configuration;
  #profiles: Profile[];
  #running: Profile;
  #active: Configuration;

  constructor(fresh: Configuration) {
    this.#fresh = fresh;
    [this.#running, this.#profiles] = createFresh(fresh);
    this.#active = fresh;
  }

  /** The configuration in effect. */
  get active(): Configuration {
    return this.#active;
  }

  get runningName(): string {
    return this.#running.name;
  }

  list(): ProfileFlags[] {
    return this.#profiles.map((profile) => this.#toFlags(profile));
  }

  /** Returns the flags of a profile, by default the running one; a 404 if it does not exist. */
  describe(name: string | undefined): ProfileFlags | Rejection {
    const profile = this.#find(name);
    return profile instanceof Rejection ? profile : this.#toFlags(profile);
  }

  /** Returns the stored configuration of a profile. */
  read(name: string | undefined): Configuration | Rejection {
    const profile = this.#find(name);
    return profile instanceof Rejection ? profile : profile.configuration;
  }

  /** Stores a change; the configuration in effect stays the same. */
  write(name: string | undefined, configuration: Configuration): void {
    const profile = this.#find(name);
    if (profile instanceof Rejection) return;
    profile.configuration = configuration;
    profile.isModified = true;
  }

  /** Makes a profile the running one and puts its configuration into effect. */
  activate(name: string | undefined): void {
    const profile = this.#find(name);
    if (profile instanceof Rejection) return;
    this.#running = profile;
    profile.isModified = false;
    this.#active = profile.configuration;
  }

  /** Creates all of the profiles, or none. */
  create(wanted: readonly NewProfile[]): Rejection | undefined {
    const reasons: RejectionReason[] = [];
    const made = wanted.flatMap(({ name, template, storedName }): Profile[] => {
      const configuration = this.#readTemplate(template, storedName);
      if (typeof configuration === 'string') reasons.push({ key: storedName ?? 'template', text: configuration });
      const text = this.#findNameFault(name);
      if (text !== undefined) reasons.push({ key: name.slice(0, KEY_LENGTH_MAX), text });
      return typeof configuration === 'string' ? [] : [{ name, configuration, isModified: false }];
    });
    reasons.push(...findRepeated(wanted.map(({ name }) => name)));
    if (this.#profiles.length + wanted.length > PROFILES_MAX) {
      reasons.push({ key: 'profiles', text: `there are never more than ${PROFILES_MAX}` });
    }
    if (reasons.length > 0) return toFault(reasons);
    this.#profiles.push(...made);
    return undefined;
  }

  /** Renames all of the profiles, or none. */
  rename(renamings: readonly { readonly oldName: string; readonly newName: string }[]): Rejection | undefined {
    const reasons = [
      ...findRepeated(renamings.map(({ oldName }) => oldName)),
      ...findRepeated(renamings.map(({ newName }) => newName)),
    ];
    const found = renamings.flatMap(({ oldName, newName }) => {
      const profile = this.#find(oldName);
      const text = this.#findNameFault(newName);
      if (profile instanceof Rejection) reasons.push({ key: oldName.slice(0, KEY_LENGTH_MAX), text: 'does not exist' });
      if (text !== undefined) reasons.push({ key: newName.slice(0, KEY_LENGTH_MAX), text });
      return profile instanceof Rejection ? [] : [{ profile, newName }];
    });
    if (reasons.length > 0) return toFault(reasons);
    for (const { profile, newName } of found) profile.name = newName;
    return undefined;
  }

  /** Removes all of the profiles, or none. */
  remove(names: readonly string[]): Rejection | undefined {
    const reasons = names.flatMap((name): RejectionReason[] => {
      const profile = this.#find(name);
      const key = name.slice(0, KEY_LENGTH_MAX);
      if (profile instanceof Rejection) return [{ key, text: 'does not exist' }];
      return profile === this.#running ? [{ key, text: 'was activated last and cannot be deleted' }] : [];
    });
    if (reasons.length > 0) return toFault(reasons);
    this.#profiles = this.#profiles.filter(({ name }) => !names.includes(name));
    return undefined;
  }

  /** Restores the profiles of a fresh router. */
  reset(): void {
    [this.#running, this.#profiles] = createFresh(this.#fresh);
    this.#active = this.#fresh;
  }

  #find(name: string | undefined): Profile | Rejection {
    if (name === undefined) return this.#running;
    return this.#profiles.find((profile) => profile.name === name) ?? Rejection.of(404, 'profile', 'not found');
  }

  #toFlags(profile: Profile): ProfileFlags {
    return { name: profile.name, last_activated: profile === this.#running, modified: profile.isModified };
  }

  #readTemplate(template: string, storedName: string | undefined): Configuration | string {
    if (template === 'default_profile') return this.#fresh;
    if (template === 'running_profile') return this.#running.configuration;
    if (template !== 'stored_profile') return 'is no template';
    const profile = this.#find(storedName ?? '');
    return profile instanceof Rejection ? 'does not exist' : profile.configuration;
  }

  #findNameFault(name: string): string | undefined {
    if (!NAME.test(name)) return 'is no name for a profile';
    return this.#profiles.some((profile) => profile.name === name) ? 'exists already' : undefined;
  }
}

function findRepeated(names: readonly string[]): RejectionReason[] {
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...repeated].map((name) => ({ key: name.slice(0, KEY_LENGTH_MAX), text: 'stands there twice' }));
}

function toFault(reasons: readonly RejectionReason[]): Rejection {
  return new Rejection(400, reasons.slice(0, REASONS_MAX));
}

function createFresh(configuration: Configuration): [Profile, Profile[]] {
  const [running, spare] = FRESH_NAMES;
  const first = { name: running, configuration, isModified: false };
  return [first, [first, { name: spare, configuration, isModified: false }]];
}
