import { deriveRandom } from '../seeded.ts';
import {
  type AuthorityKeys,
  type CertificateAuthority,
  createAuthorityKeys,
  createCertificateAuthority,
  type ServerCertificate,
} from './certificate-authority.ts';

/** Authorities whose keys this process keeps. */
const KEYS_MAX = 16;
/** By seed and name of an authority: fleets of the same seed have the same ones, because making keys takes time. */
const knownKeys = new Map<string, Promise<AuthorityKeys>>();

function openKeys(id: string): Promise<AuthorityKeys> {
  const known = knownKeys.get(id);
  if (known) return known;
  const [oldest] = knownKeys.keys();
  if (oldest !== undefined && knownKeys.size >= KEYS_MAX) knownKeys.delete(oldest);
  const created = createAuthorityKeys();
  knownKeys.set(id, created);
  return created;
}

/** The certificates of a fleet. Authorities are created on first use, because generating keys takes time. */
export class Certificates {
  readonly #seed: number;
  readonly #authorities = new Map<string, Promise<CertificateAuthority>>();
  #caPem = '';

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Certificate of the trusted authority; empty until it has signed a certificate. */
  get caPem(): string {
    return this.#caPem;
  }

  /** Issues a certificate that clients of the fleet can verify. */
  async issue(hosts: readonly string[]): Promise<ServerCertificate> {
    const authority = await this.#open('router-exporter simulator');
    this.#caPem = authority.caPem;
    return authority.issue(hosts);
  }

  /** Issues a certificate from an authority that nobody trusts. */
  async issueBad(hosts: readonly string[]): Promise<ServerCertificate> {
    return (await this.#open('router-exporter stranger')).issue(hosts);
  }

  #open(name: string): Promise<CertificateAuthority> {
    const known = this.#authorities.get(name);
    if (known) return known;
    const keys = openKeys(`${this.#seed} ${name}`);
    const authority = createCertificateAuthority(name, deriveRandom(this.#seed, name), keys);
    this.#authorities.set(name, authority);
    return authority;
  }
}
