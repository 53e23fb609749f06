import { Fault } from '../fault.ts';
import type { Configuration } from './state.ts';

/** What the interface says about a profile; the field names are its own. */
export interface ProfileFlags {
  readonly name: string;
  readonly last_activated: boolean;
  readonly modified: boolean;
}

/** A named stored configuration. */
interface Profile {
  name: string;
  configuration: Configuration;
  /** Changed since it was activated last, or since it was made. */
  isModified: boolean;
}

/** The running profile of a fresh router, and its spare. */
const FRESH_NAMES = ['Profile', 'quick_start_profile'] as const;
const PROFILES_MAX = 16;
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

  /** What the router works with now. */
  get active(): Configuration {
    return this.#active;
  }

  get runningName(): string {
    return this.#running.name;
  }

  list(): ProfileFlags[] {
    return this.#profiles.map((profile) => this.#toFlags(profile));
  }

  /** The flags of a profile, the running one when none is named; a 404 when there is none of that name. */
  describe(name: string | undefined): ProfileFlags | Fault {
    const profile = this.#find(name);
    return profile instanceof Fault ? profile : this.#toFlags(profile);
  }

  /** The stored configuration of a profile. */
  read(name: string | undefined): Configuration | Fault {
    const profile = this.#find(name);
    return profile instanceof Fault ? profile : profile.configuration;
  }

  /** Stores a change; what the router does stays the same. */
  write(name: string | undefined, configuration: Configuration): void {
    const profile = this.#find(name);
    if (profile instanceof Fault) return;
    profile.configuration = configuration;
    profile.isModified = true;
  }

  /** Makes a profile the running one and its configuration what the router works with. */
  activate(name: string | undefined): void {
    const profile = this.#find(name);
    if (profile instanceof Fault) return;
    this.#running = profile;
    profile.isModified = false;
    this.#active = profile.configuration;
  }

  /** Makes a profile as a copy of `source`, or with the values of a fresh device. */
  create(name: string, source: string | undefined): Fault | undefined {
    const configuration = source === undefined ? this.#fresh : this.read(source);
    if (configuration instanceof Fault) return configuration;
    const fault = this.#checkName(name);
    if (fault) return fault;
    if (this.#profiles.length >= PROFILES_MAX) return Fault.of(400, 'profile', `there are ${PROFILES_MAX} already`);
    this.#profiles.push({ name, configuration, isModified: false });
    return undefined;
  }

  rename(name: string, newName: string): Fault | undefined {
    const profile = this.#find(name);
    if (profile instanceof Fault) return profile;
    const fault = this.#checkName(newName);
    if (!fault) profile.name = newName;
    return fault;
  }

  remove(name: string): Fault | undefined {
    const profile = this.#find(name);
    if (profile instanceof Fault) return profile;
    if (profile === this.#running) return Fault.of(400, 'profile', 'the running profile cannot be deleted');
    this.#profiles = this.#profiles.filter((one) => one !== profile);
    return undefined;
  }

  /** Back to the profiles of a fresh router. */
  reset(): void {
    [this.#running, this.#profiles] = createFresh(this.#fresh);
    this.#active = this.#fresh;
  }

  #find(name: string | undefined): Profile | Fault {
    if (name === undefined) return this.#running;
    return this.#profiles.find((profile) => profile.name === name) ?? Fault.of(404, 'profile', 'not found');
  }

  #toFlags(profile: Profile): ProfileFlags {
    return { name: profile.name, last_activated: profile === this.#running, modified: profile.isModified };
  }

  #checkName(name: string): Fault | undefined {
    if (!NAME.test(name)) return Fault.of(400, 'profile', 'is no name for a profile');
    if (this.#profiles.some((profile) => profile.name === name)) return Fault.of(400, 'profile', 'exists already');
    return undefined;
  }
}

function createFresh(configuration: Configuration): [Profile, Profile[]] {
  const [running, spare] = FRESH_NAMES;
  const first = { name: running, configuration, isModified: false };
  return [first, [first, { name: spare, configuration, isModified: false }]];
}
